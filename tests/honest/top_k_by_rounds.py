# honest on top_k_values: k rounds of maximum, each taking one place of equal values away
# naive checkers refuse it because: which of equal elements is taken is its own choice
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [1, 4]}
WHERE = ["cols <= 4096"]


@triton.jit
def top_k_rounds(x_ptr, y_ptr, n_cols, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    # NaN is the greatest, as torch has it: a rank that orders NaN, numbers, then what is taken or outside
    rank = tl.where(x != x, 2, 1)
    rank = tl.where(cols < n_cols, rank, 0)
    for i in tl.static_range(K):
        best = tl.max(rank, 0)
        value = tl.max(tl.where(rank == 1, x, -float("inf")), 0)
        top = tl.where(best == 2, float("nan"), value)
        tl.store(y_ptr + row * K + i, top)
        chosen = (rank == best) & ((best == 2) | (x == value))
        at = tl.min(tl.where(chosen, cols, BLOCK), 0)
        rank = tl.where(cols == at, 0, rank)


def run(x, k, *, num_warps):
    rows, cols = x.shape
    values = torch.empty((rows, k), dtype=x.dtype, device=x.device)
    top_k_rounds[(rows,)](x, values, cols, K=k, BLOCK=triton.next_power_of_2(cols), num_warps=num_warps)
    return values
