# captured: launch(apply)
# given: compile
# arguments: pointer pointer fp32=1e-06 u1=True i32=3072 i64=1099511627777 i32=7
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def apply(x_ptr, y_ptr, eps, flag, one, n, big, odd, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + at, mask=at < n) * one + eps + odd
    v = tl.where(flag, v, v + big)
    tl.store(y_ptr + at, v, mask=at < n)

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    apply[(triton.cdiv(x.numel(), BLOCK),)](x, y, eps, True, 1, x.numel(), (1 << 40) + 1, 7, BLOCK=BLOCK)
    return y
