"""A row is split among several programs, so that few long rows still fill the GPU. Each writes the maximum and the sum
of its slice to an fp32 workspace; a second kernel merges the slices.
"""

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096], "SPLIT": [4, 8, 16], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 2048, "SPLIT": 8, "num_warps": 4}]


@triton.jit
def finite_or_zero(top):
    """A shift by an infinite maximum would give inf - inf; without a shift, exp gives the right 0 or inf itself."""
    return tl.where(tl.abs(top) == float("inf"), 0.0, top)


@triton.jit
def slice_top_and_sum(x_ptr, top_ptr, sum_ptr, vocab, slice_length, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    first = part * slice_length
    last = tl.minimum(first + slice_length, vocab)
    x_ptr += row.to(tl.int64) * vocab
    lane_top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(first, last, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        lane_top = tl.maximum(lane_top, tl.load(x_ptr + cols, mask=cols < last, other=-float("inf")).to(tl.float32))
    top = tl.max(lane_top, 0)
    lane_sum = tl.zeros((BLOCK,), tl.float32)
    for start in range(first, last, BLOCK):  # the slice is in L2 now
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < last, other=-float("inf")).to(tl.float32)
        lane_sum += tl.exp(x - finite_or_zero(top))
    tl.store(top_ptr + row * tl.num_programs(1) + part, top)
    tl.store(sum_ptr + row * tl.num_programs(1) + part, tl.sum(lane_sum, 0))


@triton.jit
def merge_slices(top_ptr, sum_ptr, y_ptr, SPLIT: tl.constexpr):
    row = tl.program_id(0)
    parts = row * SPLIT + tl.arange(0, SPLIT)
    tops = tl.load(top_ptr + parts)
    sums = tl.load(sum_ptr + parts)
    shift = finite_or_zero(tl.max(tops, 0))
    total = tl.sum(sums * tl.exp(tops - shift), 0)  # an empty slice: 0 * exp(-inf)
    tl.store(y_ptr + row, shift + tl.log(total))


def run(x, *, BLOCK, SPLIT, num_warps):
    n_rows, vocab = x.shape
    tops = torch.empty((n_rows, SPLIT), dtype=torch.float32, device=x.device)
    sums = torch.empty_like(tops)
    y = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
    length = triton.cdiv(vocab, SPLIT)
    slice_top_and_sum[(n_rows, SPLIT)](x, tops, sums, vocab, length, BLOCK=BLOCK, num_warps=num_warps)
    merge_slices[(n_rows,)](tops, sums, y, SPLIT=SPLIT, num_warps=1)
    return y
