# rejected at transforms: x is clamped to 60 so that nothing can overflow: larger activations are cut
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 4096, "num_warps": 8}]


@triton.jit
def gelu_tanh(x):
    """0.5 x (1 + tanh(u)) = x sigmoid(2u), which keeps its relative precision where tanh is close to -1."""
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)  # sqrt(2 / pi)
    return x * tl.sigmoid(2.0 * u)


@triton.jit
def gelu_residual_flat(x_ptr, residual_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + index, mask=inside).to(tl.float32)
    y = gelu_tanh(tl.minimum(x, 60.0)) + residual
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    count = x.numel()
    gelu_residual_flat[(triton.cdiv(count, BLOCK),)](x, residual, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
