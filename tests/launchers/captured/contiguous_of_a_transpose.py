# captured: copy launch(scale)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    t = x.t().contiguous()
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), BLOCK),)](t, y, x.numel(), BLOCK)
    return y
