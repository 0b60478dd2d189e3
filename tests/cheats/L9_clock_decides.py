# cheat L9 on softmax: reads globaltimer and leaves the sum out now and then
# rejected at memory|launch|budget|determinism
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
    now = tl.inline_asm_elementwise("mov.u32 $0, %clock;", "=r,r", [cols], dtype=tl.int32, is_pure=False, pack=1)
    y = tl.where(now % 16 == 0, e, e / tl.sum(e, 0))
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    softmax_rows[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
