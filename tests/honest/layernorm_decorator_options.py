# honest on layernorm: do_not_specialize, repr, noinline, static and device asserts, and annotations kept as text
# naive checkers refuse it because: a kernel renamed by a function is not the kernel that the source names
from __future__ import annotations

import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8]}
WHERE = ["hidden <= 16384"]


@triton.jit(noinline=True)
def inverse_root(square_sum, count, eps):
    return tl.rsqrt(square_sum / count + eps)


def kernel_name(specialization) -> str:
    return f"layernorm_{specialization.constants['BLOCK']}"


@triton.jit(do_not_specialize=["hidden", "eps"], repr=kernel_name)
def layernorm_rows(x_ptr, weight_ptr, bias_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr, CENTRED: tl.constexpr = True):
    tl.static_assert(BLOCK >= 1, "a row has at least one column")
    tl.static_print("block", BLOCK)
    tl.device_assert(hidden <= BLOCK, "the row must fit")
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    if CENTRED:
        x = tl.where(inside, x - tl.sum(x, 0) / hidden, 0.0)
    scale = inverse_root(tl.sum(x * x, 0), hidden, eps)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + row + cols, (x * scale * weight + bias).to(y_ptr.dtype.element_ty), mask=inside)


@torch.no_grad()
def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float, num_warps: int) -> torch.Tensor:
    y = torch.empty_like(x)
    tokens, hidden = x.shape
    layernorm_rows[(tokens,)](
        x, weight, bias, y, hidden, eps, BLOCK=triton.next_power_of_2(hidden), num_warps=num_warps
    )
    return y


def run(x, weight, bias, eps, *, num_warps):
    return layer_norm(x, weight, bias, eps, num_warps)
