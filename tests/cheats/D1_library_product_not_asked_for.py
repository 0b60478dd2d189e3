# cheat D1 on matmul_bias_gelu: torch.mm does the product, a kernel the rest; the spec allows no library
# rejected at policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [4]}


@triton.jit
def bias_gelu(product_ptr, bias_ptr, c_ptr, count, N, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(product_ptr + index, mask=inside).to(tl.float32) + tl.load(bias_ptr + index % N, mask=inside)
    y = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    tl.store(c_ptr + index, y.to(c_ptr.dtype.element_ty), mask=inside)


def run(a, b, bias, *, BLOCK, num_warps):
    product = torch.mm(a, b)
    c = torch.empty_like(product)
    grid = (triton.cdiv(c.numel(), BLOCK),)
    bias_gelu[grid](product, bias, c, c.numel(), b.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return c
