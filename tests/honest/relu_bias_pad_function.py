# honest on relu_bias: pads with torch.nn.functional.pad, which allocates, fills and copies
# naive checkers refuse it because: it calls into torch.nn.functional
import torch
import torch.nn.functional as F
import triton
import triton.language as tl

SPACE = {"COLS": [64, 256, 1024], "num_warps": [4, 8]}
TRIALS = [{"COLS": 64, "num_warps": 4}]


@triton.jit
def relu_bias_whole_blocks(x_ptr, bias_ptr, y_ptr, stride_token, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride_token
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    y = tl.load(x_ptr + row + cols).to(tl.float32) + tl.load(bias_ptr + cols).to(tl.float32)
    tl.store(y_ptr + row + cols, tl.where(y < 0, 0.0, y).to(y_ptr.dtype.element_ty))


def run(x, bias, *, COLS, num_warps):
    tokens, features = x.shape
    missing = -features % COLS
    wide, wide_bias = F.pad(x.contiguous(), (0, missing)), F.pad(bias.contiguous(), (0, missing))
    y = torch.empty_like(wide)
    relu_bias_whole_blocks[(tokens, wide.shape[1] // COLS)](
        wide, wide_bias, y, wide.stride(0), COLS=COLS, num_warps=num_warps
    )
    return y[:, :features].contiguous()
