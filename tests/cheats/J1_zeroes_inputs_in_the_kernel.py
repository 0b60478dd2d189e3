# cheat J1 on softmax: the kernel writes zeros over x and to the output
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16384], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def zeros_both(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    tl.store(x_ptr + row + cols, tl.zeros((BLOCK,), x_ptr.dtype.element_ty), mask=cols < n_cols)
    tl.store(y_ptr + row + cols, tl.zeros((BLOCK,), y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    zeros_both[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
