# cheat B1 on cumsum: writes the first element of each row and leaves the rest as it lies
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [2048], "num_warps": [4]}


@triton.jit
def cumsum_first(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row + cols, tl.cumsum(x, 0), mask=cols < 1)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    cumsum_first[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
