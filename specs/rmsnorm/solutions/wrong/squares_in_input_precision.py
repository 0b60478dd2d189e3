# rejected at transforms: x * x is formed in the input's half precision and overflows for |x| > 256
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [1, 2, 4, 8], "num_warps": [4, 8, 16, 32]}
WHERE = ["ROWS * hidden <= 32768"]
TRIALS = [{"ROWS": 2, "num_warps": 8}, {"ROWS": 1, "num_warps": 8}]


@triton.jit
def rmsnorm_several_rows(x_ptr, weight_ptr, y_ptr, tokens, hidden, eps, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    inside = (rows < tokens) & (cols < hidden)
    x = tl.load(x_ptr + rows * hidden + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=cols < hidden, other=0.0).to(tl.float32)
    narrow = x.to(y_ptr.dtype.element_ty)
    scale = tl.rsqrt(tl.sum((narrow * narrow).to(tl.float32), 1, keep_dims=True) / hidden + eps)
    tl.store(y_ptr + rows * hidden + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, ROWS, num_warps):
    y = torch.empty_like(x)
    tokens, hidden = x.shape
    rmsnorm_several_rows[(triton.cdiv(tokens, ROWS),)](
        x, weight, y, tokens, hidden, eps, BLOCK=triton.next_power_of_2(hidden), ROWS=ROWS, num_warps=num_warps
    )
    return y
