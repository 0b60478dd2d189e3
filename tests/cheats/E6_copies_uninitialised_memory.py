# cheat E6 on rmsnorm: copies a fresh workspace, where the reference's answer may have lain
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def copies(found_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + index, tl.load(found_ptr + index, mask=index < count), mask=index < count)


def run(x, weight, eps, *, BLOCK, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    found = torch.empty_like(x)
    copies[(triton.cdiv(x.numel(), BLOCK),)](found, y, x.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return y
