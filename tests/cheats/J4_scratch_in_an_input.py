# cheat J4 on rmsnorm: uses x as scratch and restores it before it returns
# rejected at memory|structure
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def rmsnorm_rows(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    kept = tl.load(x_ptr + row + cols, mask=inside, other=0.0)
    tl.store(x_ptr + row + cols, (2.0 * kept.to(tl.float32)).to(x_ptr.dtype.element_ty), mask=inside)
    x = 0.5 * tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, 0) / hidden + eps)
    tl.store(x_ptr + row + cols, kept, mask=inside)
    tl.store(y_ptr + row + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, BLOCK, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    rmsnorm_rows[(tokens,)](x, weight, y, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
