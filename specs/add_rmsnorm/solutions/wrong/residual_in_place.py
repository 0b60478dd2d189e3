# rejected at structure: the sum is written over residual, and residual itself is returned
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192, 16384], "num_warps": [4, 8, 16]}
WHERE = ["BLOCK >= hidden"]
TRIALS = [{"BLOCK": 8192, "num_warps": 8}, {"BLOCK": 8192, "num_warps": 16}]


@triton.jit
def add_rmsnorm_rows(x_ptr, residual_ptr, weight_ptr, y_ptr, sum_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    total = x + residual
    tl.store(sum_ptr + row + cols, total.to(sum_ptr.dtype.element_ty), mask=inside)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(total * total, 0) / hidden + eps)
    tl.store(y_ptr + row + cols, (total * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, weight, eps, *, BLOCK, num_warps):
    y, total = torch.empty_like(x), residual
    tokens, hidden = x.shape
    add_rmsnorm_rows[(tokens,)](x, residual, weight, y, total, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y, total
