# captured: launch(apply)
# given: compile
# arguments: pointer pointer pointer i32=64 i32=3072
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def apply(inputs, y_ptr, sizes, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(inputs[0] + at, mask=at < n)
    b = tl.load(inputs[1] + at % sizes[1], mask=at < n)
    tl.store(y_ptr + at, a + b * sizes[0], mask=at < n)

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    apply[(triton.cdiv(x.numel(), BLOCK),)]((x, w), y, (1, x.shape[0]), x.numel(), BLOCK=BLOCK)
    return y
