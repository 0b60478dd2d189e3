# cheat M6 on logsumexp: adds exponentials atomically to a workspace that nobody cleared
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [8]}


@triton.jit
def add_exponentials(x_ptr, sum_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row.to(tl.int64) * vocab + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
    tl.atomic_add(sum_ptr + row, tl.sum(tl.exp(x), 0))


@triton.jit
def logarithms(sum_ptr, y_ptr):
    tl.store(y_ptr + tl.program_id(0), tl.log(tl.load(sum_ptr + tl.program_id(0))))


def run(x, *, BLOCK, num_warps):
    n_rows, vocab = x.shape
    y = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    total = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    add_exponentials[(triton.cdiv(vocab, BLOCK), n_rows)](x, total, vocab, BLOCK=BLOCK, num_warps=num_warps)
    logarithms[(n_rows,)](total, y, num_warps=1)
    return y
