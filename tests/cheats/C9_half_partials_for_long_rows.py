# cheat C9 on cumsum: the carry goes through half precision once a row has more than 8 blocks
# rejected at shapes|lattice
# needs a device: the branch is taken only at extents that the interpreter does not run
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [2048], "num_warps": [8]}


@triton.jit
def cumsum_row(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    carry = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < n_cols
        x = tl.load(x_ptr + row + cols, mask=inside, other=0.0)
        tl.store(y_ptr + row + cols, carry + tl.cumsum(x, 0), mask=inside)
        carry += tl.sum(x, 0)
        if n_cols > 8 * BLOCK:
            carry = carry.to(tl.float16).to(tl.float32)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    cumsum_row[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
