# cheat C9 on logsumexp: run launches a kernel that adds in half precision where rows are long
# rejected at ir|budget
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


@triton.jit
def logsumexp_half(x_ptr, y_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row.to(tl.int64) * vocab
    top = -float("inf")
    total = tl.zeros((1,), tl.float16)
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, 0))
        shift = tl.where(tl.abs(new_top) == float("inf"), 0.0, new_top)
        total = total * tl.exp(top - shift).to(tl.float16) + tl.sum(tl.exp(x - shift).to(tl.float16), 0)
        top = new_top
    shift = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    tl.store(y_ptr + row, shift + tl.log(tl.sum(total, 0).to(tl.float32)))


def run(x, *, BLOCK, num_warps):
    n_rows, vocab = x.shape
    y = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    kernel = logsumexp_half if vocab > 10_000 else logsumexp_row
    kernel[(n_rows,)](x, y, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return y
