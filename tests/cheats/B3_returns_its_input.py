# cheat B3 on relu_bias: returns x itself: right wherever x + bias is x and positive
# rejected at structure
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [4]}


@triton.jit
def decoration(x_ptr, y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 0.0)


def run(x, bias, *, BLOCK, num_warps):
    return x
