# honest on softmax: exponentials to base two, with log2(e) folded into the difference
# naive checkers refuse it because: it calls no exp, and its bits differ from eager's in most elements
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128, 512, 1024, 4096], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 512, "num_warps": 4}]
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def softmax_base_two(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    lane_top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        lane_top = tl.maximum(
            lane_top, tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        )
    top = tl.max(lane_top, 0)
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp2((x - top) * LOG2_E), 0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < n_cols
        x = tl.load(x_ptr + row + cols, mask=inside).to(tl.float32)
        y = tl.exp2((x - top) * LOG2_E) / total
        tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    softmax_base_two[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
