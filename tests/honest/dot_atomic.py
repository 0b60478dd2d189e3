# honest on dot_product: many programs add to one zeroed float
# naive checkers refuse it because: the order of additions differs from run to run
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024, 4096], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 1024, "num_warps": 4}]


@triton.jit
def add_products(x_ptr, y_ptr, total_ptr, length, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < length
    x = tl.load(x_ptr + index, mask=inside, other=0.0)
    y = tl.load(y_ptr + index, mask=inside, other=0.0)
    tl.atomic_add(total_ptr, tl.sum(x * y, axis=0))


def run(x, y, *, BLOCK, num_warps):
    total = torch.empty((), dtype=torch.float32, device=x.device).zero_()
    add_products[(triton.cdiv(x.numel(), BLOCK),)](x, y, total, x.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return total
