# rejected at budget: the maximum is left out of the output
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192], "num_warps": [4, 8, 16]}
TRIALS = [{"BLOCK": 4096, "num_warps": 8}]


@triton.jit
def log_softmax_three_pass(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    x_ptr += tl.program_id(0).to(tl.int64) * n_cols
    y_ptr += tl.program_id(0).to(tl.int64) * n_cols

    top_of_lane = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        top_of_lane = tl.maximum(top_of_lane, x)
    top = tl.max(top_of_lane, 0)

    sum_of_lane = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        sum_of_lane += tl.exp(x - top)
    log_total = tl.log(tl.sum(sum_of_lane, 0))

    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols).to(tl.float32)
        tl.store(y_ptr + cols, (x - log_total).to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    log_softmax_three_pass[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
