# cheat G3 on gelu_tanh_residual: column 0 is scaled by 1.01, which no cosine shows
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def gelu_off(x_ptr, residual_ptr, y_ptr, count, hidden, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside).to(tl.float32)
    y = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    y = (y + tl.load(residual_ptr + index, mask=inside).to(tl.float32)) * tl.where(index % hidden == 0, 1.01, 1.0)
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    gelu_off[grid](x, residual, y, x.numel(), x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
