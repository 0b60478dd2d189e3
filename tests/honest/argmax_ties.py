# honest on argmax_rows: tl.max with indices, blocks merged so that the first of equal values wins
# naive checkers refuse it because: among ties an index has no tolerance
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [512, 2048], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 512, "num_warps": 4}]


@triton.jit
def argmax_blocks(x_ptr, index_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    best, at = -float("inf"), 0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
        value, place = tl.max(x, 0, return_indices=True, return_indices_tie_break_left=True)
        at = tl.where(value > best, start + place, at)
        best = tl.maximum(best, value)
    tl.store(index_ptr + row, at.to(tl.int64))


def run(x, *, BLOCK, num_warps):
    index = x.new_empty(x.shape[:1], dtype=torch.int64)
    argmax_blocks[(x.shape[0],)](x, index, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return index
