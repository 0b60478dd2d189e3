# honest on groupnorm_silu: three launches; sums and centred squares of a group are gathered with float atomics
# naive checkers refuse it because: it needs a zeroed workspace, and its last bits depend on the order of programs
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [64, 1024, 4096], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 1024, "num_warps": 4}]


@triton.jit
def add_sums(x_ptr, sum_ptr, size, BLOCK: tl.constexpr):
    group = tl.program_id(1)
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + group.to(tl.int64) * size + index, mask=index < size, other=0.0)
    tl.atomic_add(sum_ptr + group, tl.sum(x, 0), sem="relaxed")


@triton.jit
def add_squares(x_ptr, sum_ptr, square_ptr, size, BLOCK: tl.constexpr):
    group = tl.program_id(1)
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + group.to(tl.int64) * size + index, mask=index < size, other=0.0)
    centred = tl.where(index < size, x - tl.load(sum_ptr + group) / size, 0.0)
    tl.atomic_add(square_ptr + group, tl.sum(centred * centred, 0), sem="relaxed")


@triton.jit
def normalise(
    x_ptr, sum_ptr, square_ptr, weight_ptr, bias_ptr, y_ptr, size, spatial, groups, channels_per_group, eps,
    BLOCK: tl.constexpr,
):
    group = tl.program_id(1)
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < size
    channel = group % groups * channels_per_group + index // spatial
    x = tl.load(x_ptr + group.to(tl.int64) * size + index, mask=inside)
    mean = tl.load(sum_ptr + group) / size
    scale = tl.rsqrt(tl.load(square_ptr + group) / size + eps)
    weight = tl.load(weight_ptr + channel, mask=inside)
    y = (x - mean) * scale * weight + tl.load(bias_ptr + channel, mask=inside)
    tl.store(y_ptr + group.to(tl.int64) * size + index, y * tl.sigmoid(y), mask=inside)


def run(x, weight, bias, groups, eps, *, BLOCK, num_warps):
    batch, channels, spatial = x.shape
    size = channels // groups * spatial
    sums = torch.zeros((2, batch * groups), dtype=torch.float32, device=x.device)
    y = torch.empty_like(x)
    grid = (triton.cdiv(size, BLOCK), batch * groups)
    add_sums[grid](x, sums[0], size, BLOCK=BLOCK, num_warps=num_warps)
    add_squares[grid](x, sums[0], sums[1], size, BLOCK=BLOCK, num_warps=num_warps)
    normalise[grid](
        x, sums[0], sums[1], weight, bias, y, size, spatial, groups, channels // groups, eps,
        BLOCK=BLOCK, num_warps=num_warps,
    )
    return y
