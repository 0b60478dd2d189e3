# captured: copy copy copy copy launch(scale)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    half = x.to(torch.float16)
    back = torch.empty_like(x).copy_(half)
    again = back.float().half().float()
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), BLOCK),)](again, y, x.numel(), BLOCK)
    return y
