# rejected at memory: rows beyond the last whole group are never written
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192, 16384], "ROWS": [1, 2, 4], "num_warps": [4, 8, 16, 32]}
WHERE = ["BLOCK >= cols", "ROWS * BLOCK <= 32768"]
TRIALS = [{"BLOCK": 16384, "ROWS": 2, "num_warps": 32}]


@triton.jit
def log_softmax_rows(x_ptr, y_ptr, n_rows, n_cols, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    inside = (rows < n_rows) & (cols < n_cols)
    x = tl.load(x_ptr + rows * n_cols + cols, mask=inside, other=-float("inf")).to(tl.float32)
    shifted = x - tl.max(x, 1, keep_dims=True)
    y = shifted - tl.log(tl.sum(tl.exp(shifted), 1, keep_dims=True))
    tl.store(y_ptr + rows * n_cols + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, *, BLOCK, ROWS, num_warps):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    log_softmax_rows[(max(n_rows // ROWS, 1),)](
        x, y, n_rows, n_cols, BLOCK=BLOCK, ROWS=ROWS, num_warps=num_warps
    )
    return y
