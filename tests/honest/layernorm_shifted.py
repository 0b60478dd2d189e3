# honest on layernorm: variance of x less a rounded mean, by E[d^2] - E[d]^2, where E[d] is only what rounding left
# naive checkers refuse it because: E[d^2] - E[d]^2 looks like the formula that cancels
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8, 16]}
WHERE = ["hidden <= 16384"]


@triton.jit
def layernorm_shifted(x_ptr, weight_ptr, bias_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    # A constant taken from every term leaves the variance as it is, so the mean need not be exact; what rounding left
    # of it is taken away afterwards.
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    shift = tl.sum(x, 0) / hidden
    d = tl.where(inside, x - shift, 0.0)
    rest = tl.sum(d, 0) / hidden
    variance = tl.sum(d * d, 0) / hidden - rest * rest
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    y = (d - rest) * tl.rsqrt(tl.maximum(variance, 0.0) + eps) * weight + bias
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, bias, eps, *, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    layernorm_shifted[(tokens,)](
        x, weight, bias, y, hidden, eps, BLOCK=triton.next_power_of_2(hidden), num_warps=num_warps
    )
    return y
