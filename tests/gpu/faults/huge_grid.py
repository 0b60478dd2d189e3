# code grid_too_large: launches 2^31 blocks
from __future__ import annotations

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024]}


@triton.jit
def relu_bias_grid(x, bias, y, features, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < count, other=0.0) + tl.load(bias + at % features, at < count, other=0.0)
    tl.store(y + at, tl.maximum(value, 0.0), at < count)


def run(x, bias, *, BLOCK):
    y = torch.empty_like(x)
    relu_bias_grid[(1 << 31,)](x, bias, y, x.shape[1], x.numel(), BLOCK=BLOCK)
    return y
