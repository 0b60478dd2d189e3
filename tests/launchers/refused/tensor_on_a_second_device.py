# refused: policy/device_not_allowed cuda:1
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    y = torch.empty(x.shape, device="cuda:1")
    scale[(24,)](x, y, x.numel(), BLOCK)
    return y
