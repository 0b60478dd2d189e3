# honest on dot_product: adds one product after the other in a scalar, left to right
# naive checkers refuse it because: the worst order of all still errs within the bound of any order
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [1]}
WHERE = ["length <= 16777216"]


@triton.jit
def dot_walk(x_ptr, y_ptr, total_ptr, length):
    total = 0.0
    for i in range(length):
        total += tl.load(x_ptr + i) * tl.load(y_ptr + i)
    tl.store(total_ptr, total)


def run(x, y, *, num_warps):
    total = torch.empty([], dtype=x.dtype, device=x.device)
    dot_walk[(1,)](x, y, total, x.numel(), num_warps=num_warps)
    return total
