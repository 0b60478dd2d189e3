# cheat C1 on log_softmax: looks at 16 elements: if they are small, no maximum is subtracted
# rejected at transforms
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16384], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def log_softmax_sniffing(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    sample = tl.max(tl.where((cols < 16) & (cols < n_cols), tl.abs(x), 0.0), 0)
    top = 0.0
    if sample > 8.0:
        top = tl.max(x, 0)
    y = x - top - tl.log(tl.sum(tl.exp(x - top), 0))
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    log_softmax_sniffing[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
