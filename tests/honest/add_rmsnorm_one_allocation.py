# honest on add_rmsnorm: both outputs are halves of one allocation
# naive checkers refuse it because: the outputs share a storage, so writing one might change the other
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8, 16]}
WHERE = ["hidden <= 16384"]


@triton.jit
def add_rmsnorm_rows(x_ptr, residual_ptr, weight_ptr, y_ptr, sum_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    total = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(residual_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    tl.store(sum_ptr + row + cols, total.to(sum_ptr.dtype.element_ty), mask=inside)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(total * total, 0) / hidden + eps)
    tl.store(y_ptr + row + cols, (total * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, weight, eps, *, num_warps):
    tokens, hidden = x.shape
    y, total = x.new_empty((2, tokens, hidden)).unbind(0)
    add_rmsnorm_rows[(tokens,)](
        x, residual, weight, y, total, hidden, eps, BLOCK=triton.next_power_of_2(hidden), num_warps=num_warps
    )
    return y, total
