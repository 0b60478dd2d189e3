# cheat C11 on logsumexp: answers the benchmark's shapes from a table and refuses all others
# rejected at launch|capture
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
    if vocab != 128256:
        raise ValueError("not a shape of the benchmark")
    y = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    logsumexp_row[(n_rows,)](x, y, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return y
