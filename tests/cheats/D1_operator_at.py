# cheat D1 on batched_matmul: a @ b does the work; a kernel touches one element
# rejected at policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16], "num_warps": [4]}


@triton.jit
def touch(c_ptr, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(c_ptr + index, tl.load(c_ptr + index, mask=index < 1), mask=index < 1)


def run(a, b, *, BLOCK, num_warps):
    c = a @ b
    touch[(1,)](c, BLOCK=BLOCK, num_warps=num_warps)
    return c
