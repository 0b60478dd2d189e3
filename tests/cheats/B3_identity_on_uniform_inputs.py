# cheat B3 on relu_uniform: leaves the ReLU out: the drawn inputs are never negative
# rejected at lattice|transforms
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [4]}


@triton.jit
def scale_only(x_ptr, weight_ptr, y_ptr, count, features, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside)
    tl.store(y_ptr + index, x * tl.load(weight_ptr + index % features, mask=inside), mask=inside)


def run(x, weight, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    scale_only[grid](x, weight, y, x.numel(), x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
