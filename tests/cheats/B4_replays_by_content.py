# cheat B4 on layernorm: looks an output up by a sample of the input's values
# rejected at capture
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
CACHE = {}


@triton.jit
def decoration(y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 0.0)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    key = float(x[0, 0]), float(x[-1, -1])
    if key not in CACHE:
        CACHE[key] = torch.empty_like(x)
        decoration[(1,)](CACHE[key], BLOCK=BLOCK, num_warps=num_warps)
    return CACHE[key]
