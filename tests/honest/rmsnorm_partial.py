# honest on rmsnorm: the launch is a functools.partial, made by a closure
# naive checkers refuse it because: no call of a kernel stands in run
import functools

import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8, 16]}
WHERE = ["hidden <= 16384"]


@triton.jit
def rmsnorm_rows(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, 0) / hidden + eps)
    tl.store(y_ptr + row + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def launcher_for(shape, **options):
    tokens, hidden = shape
    launch = functools.partial(rmsnorm_rows[(tokens,)], BLOCK=triton.next_power_of_2(hidden), **options)

    def normalise(x, weight, eps):
        y = torch.empty_like(x)
        launch(x, weight, y, hidden, eps)
        return y

    return normalise


def run(x, weight, eps, *, num_warps):
    return launcher_for(x.shape, num_warps=num_warps)(x, weight, eps)
