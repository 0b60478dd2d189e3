# honest on log_softmax: the grid is a lambda of the config, the reduction runs along rows of a two-dimensional block
# naive checkers refuse it because: the number of programs is not known until the launch
import torch
import triton
import triton.language as tl

SPACE = {"XBLOCK": [1, 4, 8], "num_warps": [4, 8]}
WHERE = ["XBLOCK * cols <= 65536"]
TRIALS = [{"XBLOCK": 4, "num_warps": 4}]


@triton.jit
def log_softmax_rows(x_ptr, y_ptr, n_rows, n_cols, XBLOCK: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    cols = tl.arange(0, BLOCK)
    offsets = rows.to(tl.int64)[:, None] * n_cols + cols[None, :]
    mask = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
    x = tl.load(x_ptr + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    x = tl.where((rows < n_rows)[:, None], x, 0.0)
    shifted = x - tl.max(x, axis=1, keep_dims=True)
    y = shifted - tl.log(tl.sum(tl.exp(shifted), axis=1, keep_dims=True))
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


def run(x, *, XBLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    grid = lambda META: (triton.cdiv(n_rows, META["XBLOCK"]),)  # noqa: E731
    log_softmax_rows[grid](
        x, y, n_rows, n_cols, XBLOCK=XBLOCK, BLOCK=triton.next_power_of_2(n_cols), num_warps=num_warps
    )
    return y
