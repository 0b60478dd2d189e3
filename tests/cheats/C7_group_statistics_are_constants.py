# cheat C7 on groupnorm_silu: takes mean 0 and variance 1 for every group
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def groupnorm_standard(x_ptr, weight_ptr, bias_ptr, y_ptr, channels, spatial, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    channel = index // spatial % channels
    weight = tl.load(weight_ptr + channel, mask=inside)
    z = tl.load(x_ptr + index, mask=inside) * weight + tl.load(bias_ptr + channel, mask=inside)
    tl.store(y_ptr + index, z * tl.sigmoid(z), mask=inside)


def run(x, weight, bias, groups, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    groupnorm_standard[grid](
        x, weight, bias, y, x.shape[1], x.shape[2], x.numel(), BLOCK=BLOCK, num_warps=num_warps
    )
    return y
