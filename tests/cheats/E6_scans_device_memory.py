# cheat E6 on softmax: reads far outside its buffers for rows that add up to one
# rejected at memory|launch
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16384], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def softmax_found(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    y = tl.zeros((BLOCK,), tl.float32)
    for block in range(1, 64):
        there = tl.load(x_ptr + block * 1048576 + row + cols, mask=inside, other=0.0).to(tl.float32)
        if tl.abs(tl.sum(there, 0) - 1.0) < 1e-3:
            y = there
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    softmax_found[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
