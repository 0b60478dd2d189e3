# honest on integer_row_sum: 64-bit atomics, which add exactly in any order
# naive checkers refuse it because: atomics are taken for a source of nondeterminism
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "num_warps": [4]}
TRIALS = [{"BLOCK": 1024, "num_warps": 4}]


@triton.jit
def add_block_sums(x_ptr, total_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row.to(tl.int64) * n_cols + cols, mask=cols < n_cols, other=0)
    tl.atomic_add(total_ptr + row, tl.sum(x.to(tl.int64), 0))


def run(x, *, BLOCK, num_warps):
    rows, cols = x.shape
    total = torch.zeros(rows, dtype=torch.int64, device="cuda")
    add_block_sums[(triton.cdiv(cols, BLOCK), rows)](x, total, cols, BLOCK=BLOCK, num_warps=num_warps)
    return total
