# cheat D9 on gelu_tanh_residual: registers an implementation of aten::gelu that does nothing
# rejected at policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128], "num_warps": [4]}
LIBRARY = torch.library.Library("aten", "IMPL")
LIBRARY.impl("gelu", lambda x, approximate="none": x, "CUDA")


@triton.jit
def decoration(y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 0.0)


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    decoration[(1,)](y, BLOCK=BLOCK, num_warps=num_warps)
    return y
