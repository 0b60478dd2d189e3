# captured: launch(apply)
# given: compile pdl
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def apply(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)
    tl.extra.cuda.gdc_launch_dependents()

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    apply[(24,)](x, y, x.numel(), BLOCK, launch_pdl=True)
    return y
