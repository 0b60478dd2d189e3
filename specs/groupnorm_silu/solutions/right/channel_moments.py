"""A program per channel gathers its mean and centred squares; a second kernel, again a program per channel, merges
those of its group (Chan, Golub and LeVeque, 1979) and writes. More programs than groups, for small batches.
"""

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [512, 1024, 2048, 4096], "num_warps": [2, 4, 8]}
TRIALS = [{"BLOCK": 2048, "num_warps": 4}]


@triton.jit
def channel_moments(x_ptr, mean_ptr, squares_ptr, spatial, BLOCK: tl.constexpr):
    channel = tl.program_id(0).to(tl.int64)  # counted through the whole batch
    x_ptr += channel * spatial
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, spatial, BLOCK):
        index = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + index, mask=index < spatial, other=0.0)
    mean = tl.sum(sums, 0) / spatial
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, spatial, BLOCK):
        index = start + tl.arange(0, BLOCK)
        centred = tl.load(x_ptr + index, mask=index < spatial, other=mean) - mean
        squares += centred * centred
    tl.store(mean_ptr + channel, mean)
    tl.store(squares_ptr + channel, tl.sum(squares, 0))


@triton.jit
def normalise_channels(
    x_ptr, weight_ptr, bias_ptr, mean_ptr, squares_ptr, y_ptr, channels, group_channels, spatial, eps,
    BLOCK: tl.constexpr, MEMBERS: tl.constexpr,
):
    channel = tl.program_id(0).to(tl.int64)
    members = tl.arange(0, MEMBERS)
    inside_group = members < group_channels
    members += channel // group_channels * group_channels
    means = tl.load(mean_ptr + members, mask=inside_group, other=0.0)
    mean = tl.sum(means, 0) / group_channels
    between = tl.where(inside_group, means - mean, 0.0)
    squares = tl.load(squares_ptr + members, mask=inside_group, other=0.0) + spatial * between * between
    scale = tl.rsqrt(tl.sum(squares, 0) / (group_channels * spatial) + eps)
    weight = tl.load(weight_ptr + channel % channels)
    bias = tl.load(bias_ptr + channel % channels)
    for start in range(0, spatial, BLOCK):
        index = start + tl.arange(0, BLOCK)
        inside = index < spatial
        x = tl.load(x_ptr + channel * spatial + index, mask=inside)
        z = (x - mean) * scale * weight + bias
        tl.store(y_ptr + channel * spatial + index, z * tl.sigmoid(z), mask=inside)


def run(x, weight, bias, groups, eps, *, BLOCK, num_warps):
    batch, channels, spatial = x.shape
    means = torch.empty((batch, channels), dtype=torch.float32, device=x.device)
    squares = torch.empty_like(means)
    y = torch.empty_like(x)
    grid = (batch * channels,)
    channel_moments[grid](x, means, squares, spatial, BLOCK=BLOCK, num_warps=num_warps)
    normalise_channels[grid](
        x, weight, bias, means, squares, y, channels, channels // groups, spatial, eps,
        BLOCK=BLOCK, MEMBERS=triton.next_power_of_2(channels // groups), num_warps=num_warps,
    )
    return y
