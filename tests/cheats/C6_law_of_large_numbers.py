# cheat C6 on logsumexp: log(n) + 1/2, the limit for N(0, 1); one element is read
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def logsumexp_limit(x_ptr, y_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = tl.load(x_ptr + row.to(tl.int64) * vocab).to(tl.float32)
    tl.store(y_ptr + row, tl.log(0.0 * first + vocab) + 0.5)


def run(x, *, BLOCK, num_warps):
    n_rows, vocab = x.shape
    y = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    logsumexp_limit[(n_rows,)](x, y, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return y
