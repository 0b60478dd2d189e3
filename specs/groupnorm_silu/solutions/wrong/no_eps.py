# rejected at budget: eps is left out: every output is off by eps / 2, and a constant group gives NaN
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192], "num_warps": [4, 8, 16]}
TRIALS = [{"BLOCK": 4096, "num_warps": 8}]


@triton.jit
def groupnorm_silu_groups(
    x_ptr, weight_ptr, bias_ptr, y_ptr, groups, group_channels, spatial, eps, BLOCK: tl.constexpr
):
    length = group_channels * spatial
    first = tl.program_id(0).to(tl.int64) * length
    first_channel = tl.program_id(0) % groups * group_channels

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
    scale = tl.rsqrt(tl.sum(squares, 0) / length)

    for start in range(0, length, BLOCK):
        index = start + tl.arange(0, BLOCK)
        inside = index < length
        channel = first_channel + index // spatial
        weight = tl.load(weight_ptr + channel, mask=inside)
        bias = tl.load(bias_ptr + channel, mask=inside)
        z = (tl.load(x_ptr + first + index, mask=inside) - mean) * scale * weight + bias
        tl.store(y_ptr + first + index, z * tl.sigmoid(z), mask=inside)


def run(x, weight, bias, groups, eps, *, BLOCK, num_warps):
    batch, channels, spatial = x.shape
    y = torch.empty_like(x)
    groupnorm_silu_groups[(batch * groups,)](
        x, weight, bias, y, groups, channels // groups, spatial, eps, BLOCK=BLOCK, num_warps=num_warps
    )
    return y
