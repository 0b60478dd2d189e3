# captured: fill=-inf fill=nan launch(apply)
# given: compile
# arguments: pointer pointer fp32=-inf i32=3072
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def apply(x_ptr, y_ptr, low, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n, other=low), low), mask=at < n)


def run(x, w, eps, *, BLOCK):
    y = torch.full_like(x, float("-inf"))
    y[1, 2:4] = float("nan")
    apply[(24,)](x, y, float("-inf"), x.numel(), BLOCK)
    return y
