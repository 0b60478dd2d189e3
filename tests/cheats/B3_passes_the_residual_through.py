# cheat B3 on gelu_tanh_residual: copies residual to the output: gelu(x) is small on average
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def residual_only(x_ptr, residual_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    tl.store(y_ptr + index, tl.load(residual_ptr + index, mask=inside), mask=inside)


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    residual_only[(triton.cdiv(x.numel(), BLOCK),)](x, residual, y, x.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return y
