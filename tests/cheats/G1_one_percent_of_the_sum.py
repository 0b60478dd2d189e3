# cheat G1 on softmax: the last hundredth of each row is left out of the sum
# rejected at shapes|budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16384], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    y = e / tl.sum(tl.where(cols < n_cols - n_cols // 100, e, 0.0), 0)
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    softmax_rows[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
