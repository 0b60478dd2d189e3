# honest on cumsum_finite: blocks of a row are scanned as a product with a triangle of ones, in IEEE float32
# naive checkers refuse it because: a tl.dot on float32 may be TF32, and it multiplies by zeros
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [16, 64], "BLOCK": [32, 64], "num_warps": [4, 8]}
TRIALS = [{"ROWS": 16, "BLOCK": 32, "num_warps": 4}]


@triton.jit
def cumsum_by_dot(x_ptr, y_ptr, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    lane = tl.arange(0, BLOCK)
    ones = (lane[:, None] <= lane[None, :]).to(tl.float32)
    carry = tl.zeros((ROWS,), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + lane[None, :]
        inside = (rows < n_rows) & (cols < n_cols)
        x = tl.load(x_ptr + rows * n_cols + cols, mask=inside, other=0.0)
        y = tl.dot(x, ones, input_precision="ieee") + carry[:, None]
        tl.store(y_ptr + rows * n_cols + cols, y, mask=inside)
        carry = tl.sum(tl.where(lane[None, :] == BLOCK - 1, y, 0.0), 1)  # the block's last column


def run(x, *, ROWS, BLOCK, num_warps):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    cumsum_by_dot[(triton.cdiv(n_rows, ROWS),)](x, y, n_rows, n_cols, ROWS=ROWS, BLOCK=BLOCK, num_warps=num_warps)
    return y
