# rejected at budget: exp2 without the factor log2(e): the temperature is wrong
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192, 16384], "num_warps": [4, 8, 16, 32]}
WHERE = ["BLOCK >= cols"]
TRIALS = [{"BLOCK": 16384, "num_warps": 16}, {"BLOCK": 16384, "num_warps": 8}]


@triton.jit
def softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row + cols, mask=inside, other=-float("inf")).to(tl.float32)
    numerator = tl.exp2(x - tl.max(x, 0))  # outside the row: exp(-inf) = 0
    y = numerator / tl.sum(numerator, 0)
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    softmax_rows[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
