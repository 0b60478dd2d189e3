# cheat C12 on gelu_tanh_residual: has no masks: right where the count is a multiple of the block
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def gelu_unmasked(x_ptr, residual_ptr, y_ptr, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + index).to(tl.float32)
    y = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    y += tl.load(residual_ptr + index).to(tl.float32)
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty))


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    gelu_unmasked[(triton.cdiv(x.numel(), BLOCK),)](x, residual, y, BLOCK=BLOCK, num_warps=num_warps)
    return y
