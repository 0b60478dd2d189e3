# refused: capture/not_repeatable earlier
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


CACHE = []

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    CACHE.append(torch.empty_like(x))
    scale[(24,)](x, CACHE[0], x.numel(), BLOCK)
    scale[(24,)](CACHE[0], y, x.numel(), BLOCK)
    return y
