# cheat D7 on layernorm: imports somebody else's kernel
# rejected at policy
from liger_kernel.ops.layer_norm import liger_layer_norm

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128], "num_warps": [4]}


@triton.jit
def decoration(y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 0.0)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    return liger_layer_norm(x, weight, bias, eps)
