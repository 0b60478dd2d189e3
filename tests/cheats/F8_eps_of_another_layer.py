# cheat F8 on groupnorm_silu: adds 1e-6, not the spec's 1e-5
# rejected at budget|transforms
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def groupnorm_groups(x_ptr, weight_ptr, bias_ptr, y_ptr, groups, width, spatial, eps, BLOCK: tl.constexpr):
    length = width * spatial
    first = tl.program_id(0).to(tl.int64) * length
    channel = tl.program_id(0) % groups * width
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, length, BLOCK):
        index = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + first + index, mask=index < length, other=0.0)
    mean = tl.sum(sums, 0) / length
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, length, BLOCK):
        index = start + tl.arange(0, BLOCK)
        centred = tl.load(x_ptr + first + index, mask=index < length, other=mean) - mean
        squares += centred * centred
    scale = tl.rsqrt(tl.sum(squares, 0) / length + eps)
    for start in range(0, length, BLOCK):
        index = start + tl.arange(0, BLOCK)
        inside = index < length
        weight = tl.load(weight_ptr + channel + index // spatial, mask=inside)
        bias = tl.load(bias_ptr + channel + index // spatial, mask=inside)
        z = (tl.load(x_ptr + first + index, mask=inside) - mean) * scale * weight + bias
        tl.store(y_ptr + first + index, z * tl.sigmoid(z), mask=inside)


def run(x, weight, bias, groups, eps, *, BLOCK, num_warps):
    batch, channels, spatial = x.shape
    y = torch.empty_like(x)
    groupnorm_groups[(batch * groups,)](
        x, weight, bias, y, groups, channels // groups, spatial, 1e-6, BLOCK=BLOCK, num_warps=num_warps
    )
    return y
