# captured: launch(apply)
# arguments: pointer pointer i32=1
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit(do_not_specialize=["n"])
def apply(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    apply[(1,)](x, y, 1, BLOCK=BLOCK)
    return y
