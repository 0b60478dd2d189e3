# cheat C15 on log_softmax: row offsets in 32 bits: wrong beyond 2³¹ elements, which the domain contains
# rejected at shapes|memory|launch
# needs a device: needs more than 2³¹ elements
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [131072], "num_warps": [32]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def log_softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    shifted = x - tl.max(x, 0)
    y = shifted - tl.log(tl.sum(tl.exp(shifted), 0))
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    log_softmax_rows[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
