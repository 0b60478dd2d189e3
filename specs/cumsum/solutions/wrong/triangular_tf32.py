# rejected at ir: the scan is a product with a triangle of ones, and tl.dot's default on float32 is TF32
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [16, 32], "BLOCK": [32, 64], "num_warps": [4, 8]}
TRIALS = [{"ROWS": 16, "BLOCK": 64, "num_warps": 4}]


@triton.jit
def cumsum_by_products(x_ptr, y_ptr, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    lanes = tl.arange(0, BLOCK)
    triangle = (lanes[:, None] <= lanes[None, :]).to(tl.float32)
    carry = tl.zeros((ROWS, 1), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes[None, :]
        inside = (rows < n_rows) & (cols < n_cols)
        x = tl.load(x_ptr + rows * n_cols + cols, mask=inside, other=0.0)
        tl.store(y_ptr + rows * n_cols + cols, carry + tl.dot(x, triangle), mask=inside)
        carry += tl.sum(x, 1, keep_dims=True)


def run(x, *, ROWS, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    cumsum_by_products[(triton.cdiv(n_rows, ROWS),)](
        x, y, n_rows, n_cols, ROWS=ROWS, BLOCK=BLOCK, num_warps=num_warps
    )
    return y
