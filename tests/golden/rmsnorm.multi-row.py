"""y = x * rsqrt(mean(x^2) + eps) * weight, fp32 accumulation.

Multi-row: one program holds ROWS short rows in registers and reads each once.
"""

import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [1, 2, 4, 8, 16], "num_warps": [1, 2, 4, 8]}
WHERE = ["ROWS == 1 or ROWS * hidden <= 32768"]
TRIALS = [
    {"ROWS": 1, "num_warps": 8},
    {"ROWS": 2, "num_warps": 8},
]


@triton.jit
def rmsnorm_rows(
    x_ptr, weight_ptr, y_ptr, eps, tokens, hidden, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):
    """One program holds ROWS rows."""
    row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    col = tl.arange(0, BLOCK)[None, :]
    inside = (row < tokens) & (col < hidden)
    x = tl.load(x_ptr + row * hidden + col, mask=inside, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=1, keep_dims=True) / hidden
    weight = tl.load(weight_ptr + col, mask=col < hidden, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(mean_square + eps) * weight
    tl.store(y_ptr + row * hidden + col, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, ROWS, num_warps):
    tokens, hidden = x.shape
    rows_held = max(1, min(ROWS, 131072 // triton.next_power_of_2(hidden)))
    y = torch.empty_like(x)
    rmsnorm_rows[(triton.cdiv(tokens, rows_held),)](
        x, weight, y, eps, tokens, hidden, BLOCK=triton.next_power_of_2(hidden), ROWS=rows_held,
        num_warps=num_warps,
    )
    return y
