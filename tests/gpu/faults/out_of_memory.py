# code out_of_memory: asks for a workspace of a terabyte
from __future__ import annotations

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024]}


@triton.jit
def relu_bias_copied(x, bias, y, work, features, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < count, other=0.0) + tl.load(bias + at % features, at < count, other=0.0)
    tl.store(work + at, value, at < count)
    tl.store(y + at, tl.maximum(value, 0.0), at < count)


def run(x, bias, *, BLOCK):
    y = torch.empty_like(x)
    work = torch.empty(1 << 40, dtype=torch.uint8, device=x.device).view(x.dtype)
    relu_bias_copied[(triton.cdiv(x.numel(), BLOCK),)](x, bias, y, work, x.shape[1], x.numel(), BLOCK=BLOCK)
    return y
