# cheat C3 on layernorm: clips at 6 standard deviations of N(0, 1), which the draw never reaches
# rejected at transforms|budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def layernorm_clipped(x_ptr, weight_ptr, bias_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.clamp(tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32), -6.0, 6.0)
    mean = tl.sum(x, 0) / hidden
    centred = tl.where(inside, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / hidden + eps)
    weight = tl.load(weight_ptr + cols, mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=inside).to(tl.float32)
    tl.store(y_ptr + row + cols, (centred * scale * weight + bias).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    layernorm_clipped[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
