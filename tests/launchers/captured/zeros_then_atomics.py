# captured: fill=0 launch(add)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

def run(x, w, eps, *, BLOCK):
    y = torch.zeros_like(x)
    add[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK)
    return y
