"""y = exp(x - max(x)) / sum(exp(x - max(x))) along each row, in fp32.

Online: one pass finds maximum and sum of exponentials together, rescaling when the maximum moves.
"""

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [512, 1024, 2048, 4096, 8192, 16384], "num_warps": [4, 8, 16]}
TRIALS = [
    {"BLOCK": 4096, "num_warps": 8},
    {"BLOCK": 2048, "num_warps": 8},
    {"BLOCK": 8192, "num_warps": 16},
]


@triton.jit
def softmax_rows(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    """One program walks one row."""
    row = tl.program_id(0).to(tl.int64)
    row_max = float("-inf")
    row_sum = 0.0
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        inside = col < cols
        x = tl.load(x_ptr + row * cols + col, mask=inside, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        # A row of -inf so far has no finite maximum to subtract.
        shift = tl.where(new_max == float("-inf"), 0.0, new_max)
        block_sum = tl.sum(tl.exp(x - shift), axis=0)
        row_sum = row_sum * tl.exp(row_max - shift) + block_sum
        row_max = new_max
    # Where every element is -inf, -inf - max is NaN.
    row_sum = tl.where(row_max == float("-inf"), float("nan"), row_sum)
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        inside = col < cols
        x = tl.load(x_ptr + row * cols + col, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - row_max) / row_sum
        tl.store(y_ptr + row * cols + col, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, *, BLOCK, num_warps):
    rows, cols = x.shape
    y = torch.empty_like(x)
    softmax_rows[(rows,)](x, y, cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
