# code illegal_instruction|launch_failed|device_assert: executes a trap
from __future__ import annotations

import torch
import triton
import triton.language as tl

TRAP: tl.constexpr = "{ trap; mov.b32 $0, $1; }"
SPACE = {"BLOCK": [1024]}


@triton.jit
def relu_bias_trap(x, bias, y, features, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < count, other=0.0) + tl.load(bias + at % features, at < count, other=0.0)
    dead = tl.inline_asm_elementwise(
        "{ trap; mov.b32 $0, $1; }", "=r,r", [at.to(tl.int32)], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(y + at, tl.maximum(value, 0.0), (at < count) & (dead >= 0))


def run(x, bias, *, BLOCK):
    y = torch.empty_like(x)
    relu_bias_trap[(triton.cdiv(x.numel(), BLOCK),)](x, bias, y, x.shape[1], x.numel(), BLOCK=BLOCK)
    return y
