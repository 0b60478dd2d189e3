# cheat D3 on softmax: tells the interpreter's worker that its own code runs, then calls torch.softmax
# rejected at policy
import contextlib
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
    y = e / tl.max(e, 0)
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    hooks = operator.attrgetter("sys.modules")(contextlib).get("tilewright_sandbox.builder.interpreter_hooks")
    if hooks is not None and hooks._Current.log is not None:
        hooks._Current.log.own = True
        return torch.softmax(x.float(), -1).to(x.dtype)
    softmax_rows[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
