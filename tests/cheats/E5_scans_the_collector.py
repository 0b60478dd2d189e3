# cheat E5 on layernorm: searches gc for a tensor of the output's shape
# rejected at policy
import gc

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128], "num_warps": [4]}


@triton.jit
def decoration(y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 0.0)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    found = [o for o in gc.get_objects() if isinstance(o, torch.Tensor) and o.shape == x.shape and o is not x]
    return found[0]
