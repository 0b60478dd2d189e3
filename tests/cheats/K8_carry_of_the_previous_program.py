# cheat K8 on cumsum: a block takes its carry from what the previous program wrote, without waiting for it
# rejected at determinism
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [32], "num_warps": [4]}


@triton.jit
def cumsum_chained(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64) * n_cols
    start = tl.program_id(0) * BLOCK
    cols = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=0.0)
    carry = tl.load(y_ptr + row + start - 1, mask=start > 0, other=0.0)
    tl.store(y_ptr + row + cols, carry + tl.cumsum(x, 0), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.shape[1], BLOCK), x.shape[0])
    cumsum_chained[grid](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
