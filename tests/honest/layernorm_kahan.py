# honest on layernorm: Kahan's compensated sums over the row, more accurate than the reference in float32
# naive checkers refuse it because: (t - s) - y looks like a term that is zero, and its bits differ from eager's
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [64, 256, 1024], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 256, "num_warps": 4}]


@triton.jit
def compensated(total, lost, term):
    y = term - lost
    t = total + y
    return t, (t - total) - y


@triton.jit
def layernorm_compensated(x_ptr, weight_ptr, bias_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    total, lost = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + cols, mask=cols < hidden, other=0.0).to(tl.float32)
        total, lost = compensated(total, lost, x)
    mean = tl.sum(total - lost, 0) / hidden
    total, lost = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < hidden
        x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
        centred = tl.where(inside, x - mean, 0.0)
        total, lost = compensated(total, lost, centred * centred)
    scale = tl.rsqrt(tl.sum(total - lost, 0) / hidden + eps)
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < hidden
        x = tl.load(x_ptr + row + cols, mask=inside).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=inside).to(tl.float32)
        bias = tl.load(bias_ptr + cols, mask=inside).to(tl.float32)
        tl.store(y_ptr + row + cols, ((x - mean) * scale * weight + bias).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    layernorm_compensated[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
