# honest on rmsnorm: programmatic dependent launch; the prologue may overlap the kernel before, which it waits for
# naive checkers refuse it because: it starts before the work ahead of it on the stream has ended
# needs a device: the wait is inline assembly
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

SPACE = {"num_warps": [4, 8]}
WHERE = ["hidden <= 16384"]


@triton.jit
def rmsnorm_rows(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    gdc_wait()  # nothing is read before
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    gdc_launch_dependents()
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, 0) / hidden + eps)
    tl.store(y_ptr + row + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, num_warps):
    y = torch.empty_like(x)
    tokens, hidden = x.shape
    rmsnorm_rows[(tokens,)](
        x, weight, y, hidden, eps,
        BLOCK=triton.next_power_of_2(hidden), num_warps=num_warps, launch_pdl=True,
    )
    return y
