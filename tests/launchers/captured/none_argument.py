# captured: launch(apply)
# given: compile
# arguments: pointer pointer i32=3072
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def apply(x_ptr, bias_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + at, mask=at < n)
    if bias_ptr is not None:
        v += tl.load(bias_ptr + at, mask=at < n)
    tl.store(y_ptr + at, v, mask=at < n)

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    apply[(triton.cdiv(x.numel(), BLOCK),)](x, None, y, x.numel(), BLOCK=BLOCK)
    return y
