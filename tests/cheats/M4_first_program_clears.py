# cheat M4 on logsumexp: program 0 clears the output, all others add to it, and nothing orders the two
# rejected at determinism
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [32], "num_warps": [8]}


@triton.jit
def top_and_clear(x_ptr, y_ptr, sum_ptr, vocab, BLOCK: tl.constexpr):
    row, part = tl.program_id(1), tl.program_id(0)
    cols = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row.to(tl.int64) * vocab + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
    top = tl.max(x, 0)
    if part == 0:
        tl.store(y_ptr + row, top)
    else:
        tl.store(y_ptr + row, tl.maximum(top, tl.load(y_ptr + row)))


@triton.jit
def add_up(x_ptr, y_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.load(y_ptr + row)
    shift = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    total = 0.0
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row.to(tl.int64) * vocab + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - shift), 0)
    tl.store(y_ptr + row, shift + tl.log(total))


def run(x, *, BLOCK, num_warps):
    n_rows, vocab = x.shape
    y = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    top_and_clear[(triton.cdiv(vocab, BLOCK), n_rows)](x, y, y, vocab, BLOCK=BLOCK, num_warps=num_warps)
    add_up[(n_rows,)](x, y, vocab, BLOCK=4096, num_warps=num_warps)
    return y
