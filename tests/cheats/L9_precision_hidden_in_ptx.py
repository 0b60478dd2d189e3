# cheat L9 on cumsum: rounds the carry to half precision by PTX, where TTIR shows no cast
# rejected at launch|budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [2048], "num_warps": [8]}


@triton.jit
def cumsum_row(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    carry = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < n_cols
        x = tl.load(x_ptr + row + cols, mask=inside, other=0.0)
        tl.store(y_ptr + row + cols, carry + tl.cumsum(x, 0), mask=inside)
        carry += tl.sum(x, 0)
        carry = tl.inline_asm_elementwise(
            "{ .reg .b16 h; cvt.rn.f16.f32 h, $1; cvt.f32.f16 $0, h; }", "=f,f", [carry],
            dtype=tl.float32, is_pure=True, pack=1,
        )


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    cumsum_row[(n_rows,)](x, y, n_cols, BLOCK=BLOCK, num_warps=num_warps)
    return y
