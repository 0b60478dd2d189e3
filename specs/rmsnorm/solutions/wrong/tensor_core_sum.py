# rejected at ir: squares are added by tl.dot, whose default on float32 is TF32; the output's rounding hides it
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [16, 32], "BLOCK": [64, 128], "num_warps": [4, 8]}
TRIALS = [{"ROWS": 16, "BLOCK": 128, "num_warps": 4}]


@triton.jit
def rmsnorm_by_products(x_ptr, weight_ptr, y_ptr, tokens, hidden, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    ones = tl.full((BLOCK, 16), 1.0, tl.float32)
    squares = tl.zeros((ROWS, 16), tl.float32)  # sixteen equal columns: tl.dot's least width
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + rows * hidden + cols, mask=(rows < tokens) & (cols < hidden), other=0.0).to(tl.float32)
        squares = tl.dot(x * x, ones, squares)
    scale = tl.rsqrt(tl.max(squares, 1, keep_dims=True) / hidden + eps)
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)[None, :]
        inside = (rows < tokens) & (cols < hidden)
        x = tl.load(x_ptr + rows * hidden + cols, mask=inside).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=cols < hidden).to(tl.float32)
        tl.store(y_ptr + rows * hidden + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, ROWS, BLOCK, num_warps):
    y = torch.empty_like(x)
    tokens, hidden = x.shape
    rmsnorm_by_products[(triton.cdiv(tokens, ROWS),)](
        x, weight, y, tokens, hidden, eps, ROWS=ROWS, BLOCK=BLOCK, num_warps=num_warps
    )
    return y
