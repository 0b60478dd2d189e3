# cheat C13 on relu_bias: as_strided takes the storage for contiguous, gaps included
# rejected at memory|shapes
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def relu_bias_flat(x_ptr, bias_ptr, y_ptr, count, features, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + index % features, mask=inside).to(tl.float32)
    y = tl.maximum(x + bias, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, bias, *, BLOCK, num_warps):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    flat = torch.as_strided(x, (x.numel(),), (1,), x.storage_offset())
    grid = (triton.cdiv(x.numel(), BLOCK),)
    relu_bias_flat[grid](flat, bias.contiguous(), y, x.numel(), x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
