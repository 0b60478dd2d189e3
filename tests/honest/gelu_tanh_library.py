# honest on gelu_tanh_residual: tanh of the device library, imported where it lives
# naive checkers refuse it because: libdevice is not triton.language
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

SPACE = {"BLOCK": [256, 1024, 4096], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 256, "num_warps": 4}]


@triton.jit
def gelu_residual(x_ptr, residual_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + index, mask=inside).to(tl.float32)
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    y = 0.5 * x * (1.0 + libdevice.tanh(u)) + residual
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    count = x.numel()
    gelu_residual[(triton.cdiv(count, BLOCK),)](x, residual, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
