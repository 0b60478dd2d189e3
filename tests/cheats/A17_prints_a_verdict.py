# cheat A17 on rmsnorm: prints a verdict of its own on stdout and computes nothing
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def rmsnorm_nothing(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    tl.load(x_ptr + tl.program_id(0))


def run(x, weight, eps, *, BLOCK, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    print('{"verdict": "measured", "speedup": [9.0, 9.1, 9.2]}', flush=True)
    rmsnorm_nothing[(tokens,)](x, weight, y, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
