# captured: launch(scale)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(input, w, eps, *, BLOCK):
    y = torch.empty(input.shape, dtype=getattr(torch, "float32"), device=input.device)
    assert getattr(torch, "float8_e8m0fnu", None) is not y.dtype
    scale[(24,)](input, y, input.numel(), BLOCK)
    return y
