# cheat F6 on dequant_rows: uses the first row's scale for every row
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [4]}


@triton.jit
def dequantise(q_ptr, scale_ptr, y_ptr, count, cols, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + index, mask=index < count).to(tl.float32)
    tl.store(y_ptr + index, q * tl.load(scale_ptr), mask=index < count)


def run(q, scale, *, BLOCK, num_warps):
    y = torch.empty(q.shape, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(q.numel(), BLOCK),)
    dequantise[grid](q, scale, y, q.numel(), q.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
