# honest on softmax: triton.heuristics chooses block and mask from the arguments
# naive checkers refuse it because: a decorator other than jit sits on the kernel, as autotune would
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8, 16]}
WHERE = ["cols <= 16384"]


@triton.heuristics(
    {
        "BLOCK": lambda args: triton.next_power_of_2(args["n_cols"]),
        "EVEN": lambda args: triton.next_power_of_2(args["n_cols"]) == args["n_cols"],
    }
)
@triton.jit
def softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + row + cols).to(tl.float32)
    else:
        x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, 0))
    y = (numerator / tl.sum(numerator, 0)).to(y_ptr.dtype.element_ty)
    if EVEN:
        tl.store(y_ptr + row + cols, y)
    else:
        tl.store(y_ptr + row + cols, y, mask=cols < n_cols)


def run(x, *, num_warps):
    y = torch.empty_like(x)
    softmax_rows[(x.shape[0],)](x, y, x.shape[1], num_warps=num_warps)
    return y
