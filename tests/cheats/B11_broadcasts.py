# cheat B11 on logsumexp: returns one element that broadcasts against every row
# rejected at structure
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [4]}


@triton.jit
def first_row(x_ptr, y_ptr, vocab, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(x_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32))
    tl.store(y_ptr, tl.log(tl.sum(total, 0)))


def run(x, *, BLOCK, num_warps):
    y = torch.empty(1, dtype=torch.float32, device=x.device)
    first_row[(1,)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
