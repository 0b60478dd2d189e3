"""Rows of any length in two passes: blocks' means and centred squares are merged by the formula of Chan, Golub and
LeVeque (1979), which stays exact where the mean is far greater than the deviation.
"""

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [512, 1024, 2048, 4096], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 2048, "num_warps": 8}]


@triton.jit
def layernorm_merged(x_ptr, weight_ptr, bias_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    mean = 0.0
    squares = 0.0  # sum of squared deviations from the mean
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < hidden
        x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
        count = tl.minimum(hidden - start, BLOCK)
        block_mean = tl.sum(x, 0) / count
        centred = tl.where(inside, x - block_mean, 0.0)
        shift = block_mean - mean
        share = count / (start + count)
        squares += tl.sum(centred * centred, 0) + shift * shift * start * share
        mean += shift * share
    scale = tl.rsqrt(squares / hidden + eps)
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
    tokens, hidden = x.shape
    layernorm_merged[(tokens,)](x, weight, bias, y, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
