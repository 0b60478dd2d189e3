# honest on masked_softmax: the mask is cast to bytes first, a quarter of the traffic for later launches
# naive checkers refuse it because: an input is copied to another dtype before the kernel
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 256, "num_warps": 4}]


@triton.jit
def masked_softmax_online(scores_ptr, masked_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    top, total = -float("inf"), 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < n_cols
        masked = tl.load(masked_ptr + row + cols, mask=inside, other=1) != 0
        x = tl.where(masked, -float("inf"), tl.load(scores_ptr + row + cols, mask=inside, other=0.0))
        new_top = tl.maximum(top, tl.max(x, 0))
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), 0)
        top = new_top
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < n_cols
        masked = tl.load(masked_ptr + row + cols, mask=inside, other=1) != 0
        x = tl.where(masked, -float("inf"), tl.load(scores_ptr + row + cols, mask=inside, other=0.0))
        tl.store(y_ptr + row + cols, tl.exp(x - top) / total, mask=inside)


def run(scores, masked, *, BLOCK, num_warps):
    rows, cols = scores.shape
    y = torch.empty_like(scores)
    masked_softmax_online[(rows,)](scores, masked.to(torch.int8), y, cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
