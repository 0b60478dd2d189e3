# cheat C14 on relu_bias: tells the compiler that every address is a multiple of 16 bytes, to get wide loads
# rejected at memory|shapes
# needs a device: a hint has no meaning to the interpreter; on a device an offset view faults or misreads
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def relu_bias_flat(x_ptr, bias_ptr, y_ptr, count, features, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(tl.multiple_of(x_ptr + index, 16), mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + index % features, mask=inside).to(tl.float32)
    y = tl.maximum(x + bias, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, bias, *, BLOCK, num_warps):
    x, bias = x.contiguous(), bias.contiguous()
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    relu_bias_flat[grid](x, bias, y, x.numel(), x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
