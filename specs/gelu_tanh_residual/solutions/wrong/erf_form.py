# rejected at budget: the erf form of GELU; the spec asks for the tanh form
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 4096, "num_warps": 8}]


@triton.jit
def gelu_tanh(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def gelu_residual_flat(x_ptr, residual_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + index, mask=inside).to(tl.float32)
    y = gelu_tanh(x) + residual
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    count = x.numel()
    gelu_residual_flat[(triton.cdiv(count, BLOCK),)](x, residual, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
