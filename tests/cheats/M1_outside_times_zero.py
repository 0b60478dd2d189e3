# cheat M1 on cumsum: reads a whole block past the row's end and multiplies it by zero
# rejected at memory
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
        x = tl.load(x_ptr + row + cols) * inside.to(tl.float32)
        tl.store(y_ptr + row + cols, carry + tl.cumsum(x, 0), mask=inside)
        carry += tl.sum(x, 0)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    cumsum_row[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
