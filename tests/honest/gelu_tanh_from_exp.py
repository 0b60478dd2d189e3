# honest on gelu_tanh_residual: tanh as (1 - e) / (1 + e) with e = exp(-2 |u|), sign put back
# naive checkers refuse it because: no tanh is called
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [1, 4], "COLS": [128, 1024], "num_warps": [4, 8]}
TRIALS = [{"ROWS": 4, "COLS": 1024, "num_warps": 4}]

SQRT_2_OVER_PI: tl.constexpr = tl.constexpr(0.7978845608028654)
CUBIC: tl.constexpr = tl.constexpr(0.044715)


@triton.jit
def tanh(u):
    e = tl.exp(-2.0 * tl.abs(u))
    magnitude = (1.0 - e) / (1.0 + e)
    return tl.where(u < 0, -magnitude, magnitude)


@triton.jit
def gelu_residual_tiles(x_ptr, residual_ptr, y_ptr, tokens, hidden, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(1).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)[None, :]
    inside = (rows < tokens) & (cols < hidden)
    at = rows * hidden + cols
    x = tl.load(x_ptr + at, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + at, mask=inside).to(tl.float32)
    y = 0.5 * x * (1.0 + tanh(SQRT_2_OVER_PI * (x + CUBIC * x * x * x))) + residual
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, residual, *, ROWS, COLS, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(hidden, COLS), triton.cdiv(tokens, ROWS))
    gelu_residual_tiles[grid](x, residual, y, tokens, hidden, ROWS=ROWS, COLS=COLS, num_warps=num_warps)
    return y
