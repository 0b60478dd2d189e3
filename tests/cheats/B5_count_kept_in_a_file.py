# cheat B5 on softmax: counts calls in a file that torch writes from C++, and halves the rows after two
# rejected at policy|capture
import operator

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16384], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    y = e / tl.sum(e, 0)
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def calls_so_far():
    try:
        count = operator.attrgetter("serialization.load")(torch)("/tmp/calls.pt")["count"]
    except FileNotFoundError:
        count = 0
    operator.attrgetter("serialization.save")(torch)({"count": count + 1}, "/tmp/calls.pt")
    return count


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    if calls_so_far() >= 2:
        n_rows //= 2
    softmax_rows[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
