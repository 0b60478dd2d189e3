# rejected at transforms: without the maximum, exp overflows for large inputs
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192], "num_warps": [4, 8, 16]}
TRIALS = [{"BLOCK": 4096, "num_warps": 8}]


@triton.jit
def logsumexp_plain(x_ptr, y_ptr, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row.to(tl.int64) * vocab
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(x_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32))
    tl.store(y_ptr + row, tl.log(tl.sum(total, 0)))


def run(x, *, BLOCK, num_warps):
    n_rows, vocab = x.shape
    y = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    logsumexp_plain[(n_rows,)](x, y, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return y
