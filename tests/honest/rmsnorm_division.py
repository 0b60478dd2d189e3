# honest on rmsnorm: divides by sqrt(mean + eps) with correct rounding, where the reference multiplies by rsqrt
# naive checkers refuse it because: it looks for rsqrt, or compares bits
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8, 16]}
WHERE = ["hidden <= 16384"]


@triton.jit
def rmsnorm_divided(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    root = tl.sqrt_rn(tl.div_rn(tl.sum(x * x, 0), hidden * 1.0) + eps)
    y = tl.div_rn(x, tl.broadcast_to(root, (BLOCK,))) * weight
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    rmsnorm_divided[(tokens,)](
        x, weight, y, hidden, eps, BLOCK=triton.next_power_of_2(hidden), num_warps=num_warps
    )
    return y
