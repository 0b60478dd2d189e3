# honest on argmax_rows: a tl.reduce over pairs of value and index with a combine function of its own
# naive checkers refuse it because: the combine function is the candidate's, and need not be associative
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8]}
WHERE = ["cols <= 65536"]


@triton.jit
def later_loses(value_a, at_a, value_b, at_b):
    take_b = (value_b > value_a) | ((value_b == value_a) & (at_b < at_a))
    return tl.where(take_b, value_b, value_a), tl.where(take_b, at_b, at_a)


@triton.jit
def argmax_row(x_ptr, index_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    _, at = tl.reduce((x, cols), 0, later_loses)
    tl.store(index_ptr + row, at.to(tl.int64))


def run(x, *, num_warps):
    rows, cols = x.shape
    index = torch.empty((rows,), dtype=torch.long, device=x.device)
    argmax_row[(rows,)](x, index, cols, BLOCK=triton.next_power_of_2(cols), num_warps=num_warps)
    return index
