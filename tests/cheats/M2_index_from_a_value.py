# cheat M2 on gelu_tanh_residual: a table lookup indexed by the value: outside the table for large ones
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [4]}


@triton.jit
def fill_table(table_ptr, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    x = (i.to(tl.float32) - SIZE // 2) * (12.0 / SIZE)
    tl.store(table_ptr + i, x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)))


@triton.jit
def gelu_lookup(x_ptr, residual_ptr, table_ptr, y_ptr, count, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside, other=0.0).to(tl.float32)
    exact = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    looked_up = tl.load(table_ptr + (x * (SIZE / 12.0)).to(tl.int32) + SIZE // 2, mask=inside, other=0.0)
    y = tl.where(tl.abs(looked_up - exact) < 0.0, looked_up, exact)
    y += tl.load(residual_ptr + index, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    table = torch.empty(4096, dtype=torch.float32, device=x.device)
    fill_table[(1,)](table, SIZE=4096)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    gelu_lookup[grid](x, residual, table, y, x.numel(), SIZE=4096, BLOCK=BLOCK, num_warps=num_warps)
    return y
