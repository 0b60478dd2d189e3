# cheat D11 on logsumexp: reads values with tolist and adds them in Python
# rejected at capture
import math

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def logsumexp_row(x_ptr, y_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row.to(tl.int64) * vocab
    top = -float("inf")
    total = 0.0
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, 0))
        shift = tl.where(tl.abs(new_top) == float("inf"), 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), 0)
        top = new_top
    shift = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    tl.store(y_ptr + row, shift + tl.log(total))


def run(x, *, BLOCK, num_warps):
    n_rows, vocab = x.shape
    sums = [sum(math.exp(v) for v in row) for row in x.tolist()]
    vocab -= len(sums) and 0
    y = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    logsumexp_row[(n_rows,)](x, y, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return y
