# honest on layernorm: Welford's update for each lane, lanes merged by Chan's rule in a tl.reduce of three values
# naive checkers refuse it because: mean and variance come from one pass and round differently from two passes
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [64, 512, 1024], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 512, "num_warps": 4}]


@triton.jit
def merge(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    delta = mean_b - mean_a
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def layernorm_welford(x_ptr, weight_ptr, bias_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    mean = tl.zeros((BLOCK,), tl.float32)
    m2 = tl.zeros((BLOCK,), tl.float32)
    count = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < hidden
        x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
        count += inside.to(tl.float32)
        delta = x - mean
        new_mean = mean + delta / tl.maximum(count, 1.0)
        m2 = tl.where(inside, m2 + delta * (x - new_mean), m2)
        mean = tl.where(inside, new_mean, mean)
    mean, m2, count = tl.reduce((mean, m2, count), 0, merge)
    scale = tl.rsqrt(m2 / hidden + eps)
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < hidden
        x = tl.load(x_ptr + row + cols, mask=inside).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=inside).to(tl.float32)
        bias = tl.load(bias_ptr + cols, mask=inside).to(tl.float32)
        y = (x - mean) * scale * weight + bias
        tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    layernorm_welford[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
