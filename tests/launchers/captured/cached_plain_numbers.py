# captured: launch(scale)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


import functools

@functools.lru_cache(maxsize=None)
def programs(n: int, block: int) -> int:
    return triton.cdiv(n, block)

@torch.no_grad()
def run(x, w, eps, *, BLOCK):
    y = x.new_empty(x.shape)
    scale[(programs(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK)
    return [y]
