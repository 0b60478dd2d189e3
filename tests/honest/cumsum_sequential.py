# honest on cumsum: every lane owns a row and walks it element by element, the plainest order there is
# naive checkers refuse it because: a sequential sum errs by more than a pairwise one, and the walk is across the memory
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [32, 128], "num_warps": [1, 4]}
TRIALS = [{"ROWS": 32, "num_warps": 1}]


@triton.jit
def cumsum_walk(x_ptr, y_ptr, n_rows, n_cols, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    x_ptrs = x_ptr + rows.to(tl.int64) * n_cols
    y_ptrs = y_ptr + rows.to(tl.int64) * n_cols
    total = tl.zeros((ROWS,), tl.float32)
    for _ in range(n_cols):
        total += tl.load(x_ptrs, mask=inside, other=0.0)
        tl.store(y_ptrs, total, mask=inside)
        x_ptrs += 1
        y_ptrs += 1


def run(x, *, ROWS, num_warps):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    cumsum_walk[(triton.cdiv(n_rows, ROWS),)](x, y, n_rows, n_cols, ROWS=ROWS, num_warps=num_warps)
    return y
