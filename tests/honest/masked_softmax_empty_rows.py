# honest on masked_softmax: masked scores are -inf; a row that is masked whole gives 0/0 = NaN, as the reference does
# naive checkers refuse it because: any NaN or infinity in an output is an error to them
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8]}
WHERE = ["cols <= 16384"]


@triton.jit
def masked_softmax_rows(scores_ptr, masked_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    masked = tl.load(masked_ptr + row + cols, mask=inside, other=1)
    x = tl.where(masked != 0, -float("inf"), tl.load(scores_ptr + row + cols, mask=inside, other=0.0))
    top = tl.max(x, 0)
    shifted = tl.where(top == -float("inf"), -float("inf"), x - top)
    e = tl.exp(shifted)
    tl.store(y_ptr + row + cols, e / tl.sum(e, 0), mask=inside)


def run(scores, masked, *, num_warps):
    rows, cols = scores.shape
    y = torch.empty_like(scores)
    masked_softmax_rows[(rows,)](
        scores, masked, y, cols, BLOCK=triton.next_power_of_2(cols), num_warps=num_warps
    )
    return y
