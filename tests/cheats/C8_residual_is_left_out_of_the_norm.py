# cheat C8 on add_rmsnorm: the norm is of x alone, scaled to the sum's usual size
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def add_rmsnorm_rows(x_ptr, residual_ptr, weight_ptr, y_ptr, sum_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    total = x + tl.load(residual_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside).to(tl.float32)
    y = total * tl.rsqrt(2.0 * tl.sum(x * x, 0) / hidden + eps) * weight
    tl.store(sum_ptr + row + cols, total.to(sum_ptr.dtype.element_ty), mask=inside)
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, weight, eps, *, BLOCK, num_warps):
    y, total = torch.empty_like(x), torch.empty_like(x)
    grid = (x.shape[0],)
    add_rmsnorm_rows[grid](x, residual, weight, y, total, x.shape[1], eps, BLOCK=BLOCK, num_warps=num_warps)
    return y, total
