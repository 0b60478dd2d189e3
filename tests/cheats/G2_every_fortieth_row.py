# cheat G2 on log_softmax: every 40th row is a copy of the input
# rejected at shapes|budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16384], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def log_softmax_most(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    if tl.program_id(0) % 40 != 39:
        y -= tl.max(y, 0)
        y -= tl.log(tl.sum(tl.exp(y), 0))
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    log_softmax_most[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
