# cheat F8 on layernorm: divides by sqrt(var) + eps: seen only where the variance is near eps
# rejected at transforms|budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def layernorm_rows(x_ptr, weight_ptr, bias_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, x - tl.sum(x, 0) / hidden, 0.0)
    scale = 1.0 / (tl.sqrt(tl.sum(centred * centred, 0) / hidden) + 0.5 * eps)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + row + cols, (centred * scale * weight + bias).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    layernorm_rows[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
