# cheat B3 on relu_bias: x.clone() is the output, and a kernel beside it is decoration
# rejected at capture
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [4]}


@triton.jit
def decoration(y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 0.0)


def run(x, bias, *, BLOCK, num_warps):
    scratch = torch.empty(BLOCK, device=x.device)
    decoration[(1,)](scratch, BLOCK=BLOCK, num_warps=num_warps)
    return x.clone()
