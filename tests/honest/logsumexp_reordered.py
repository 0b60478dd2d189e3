# honest on logsumexp: the row as a square block, in whatever order the compiler likes, reduced along both axes
# naive checkers refuse it because: can_reorder lets elements change places
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8, 16]}
WHERE = ["vocab <= 131072"]


@triton.jit
def logsumexp_square(x_ptr, y_ptr, n_cols, LINES: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, LINES * WIDTH)
    x = tl.load(x_ptr + row.to(tl.int64) * n_cols + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    square = tl.reshape(x, (LINES, WIDTH), can_reorder=True)
    top = tl.max(tl.max(square, 1), 0)
    shift = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    total = tl.sum(tl.sum(tl.exp(square - shift), 0), 0)
    tl.store(y_ptr + row, tl.log(total) + shift)


def run(x, *, num_warps):
    rows, vocab = x.shape
    y = torch.empty((rows,), dtype=torch.float32, device=x.device)
    block = max(64, triton.next_power_of_2(vocab))
    logsumexp_square[(rows,)](x, y, vocab, LINES=block // 32, WIDTH=32, num_warps=num_warps)
    return y
