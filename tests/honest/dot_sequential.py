# honest on dot_product: one program, one running sum a lane, no tree until the end
# naive checkers refuse it because: its error grows with the length faster than a pairwise sum's
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16, 64], "num_warps": [1]}
TRIALS = [{"BLOCK": 16, "num_warps": 1}]


@triton.jit
def dot_lanes(x_ptr, y_ptr, total_ptr, length, BLOCK: tl.constexpr):
    lanes = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, length, BLOCK):
        index = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + index, mask=index < length, other=0.0)
        lanes += x * tl.load(y_ptr + index, mask=index < length, other=0.0)
    tl.store(total_ptr, tl.sum(lanes, 0))


def run(x, y, *, BLOCK, num_warps):
    total = x.new_empty(())
    dot_lanes[(1,)](x, y, total, x.shape[0], BLOCK=BLOCK, num_warps=num_warps)
    return total
