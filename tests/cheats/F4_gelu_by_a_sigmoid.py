# cheat F4 on gelu_tanh_residual: x·σ(1.702 x), a usual stand-in for GELU
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def gelu_sigmoid(x_ptr, residual_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside).to(tl.float32)
    y = x * tl.sigmoid(1.702 * x) + tl.load(residual_ptr + index, mask=inside).to(tl.float32)
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    gelu_sigmoid[(triton.cdiv(x.numel(), BLOCK),)](x, residual, y, x.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return y
