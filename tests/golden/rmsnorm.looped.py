"""y = x * rsqrt(mean(x^2) + eps) * weight, fp32 accumulation.

Looped: one program walks its row in blocks, once for each level of reduction and once to write.
"""

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [512, 1024, 2048, 4096, 8192, 16384], "num_warps": [4, 8, 16]}
TRIALS = [
    {"BLOCK": 2048, "num_warps": 8},
    {"BLOCK": 1024, "num_warps": 8},
    {"BLOCK": 4096, "num_warps": 8},
]


@triton.jit
def rmsnorm_rows(x_ptr, weight_ptr, y_ptr, eps, hidden, BLOCK: tl.constexpr):
    """One program walks one row."""
    row = tl.program_id(0).to(tl.int64)
    mean_square = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, hidden, BLOCK):
        col = start + tl.arange(0, BLOCK)
        inside = col < hidden
        x = tl.load(x_ptr + row * hidden + col, mask=inside, other=0.0).to(tl.float32)
        mean_square += x * x
    mean_square = tl.sum(mean_square, axis=0) / hidden
    inv_rms = tl.rsqrt(mean_square + eps)
    for start in range(0, hidden, BLOCK):
        col = start + tl.arange(0, BLOCK)
        inside = col < hidden
        x = tl.load(x_ptr + row * hidden + col, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + col, mask=inside, other=0.0).to(tl.float32)
        y = x * inv_rms * weight
        tl.store(y_ptr + row * hidden + col, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, BLOCK, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    rmsnorm_rows[(tokens,)](x, weight, y, eps, hidden, BLOCK=BLOCK, num_warps=num_warps)
    return y
