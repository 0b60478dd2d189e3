# cheat G9 on scaled_sum_grad: gives the forward alone where the spec asks for a gradient
# rejected at source
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def weighted_sum(x_ptr, weight_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row.to(tl.int64) * n_cols + cols, mask=cols < n_cols, other=0.0)
    weight = tl.load(weight_ptr + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row, tl.sum(x * weight, 0))


def run(x, weight, *, BLOCK, num_warps):
    y = torch.empty((x.shape[0],), dtype=x.dtype, device=x.device)
    weighted_sum[(x.shape[0],)](x, weight, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
