# cheat B1 on layernorm: the kernel writes a scratch buffer; the output is torch.empty
# rejected at capture
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def copies_rows(x_ptr, y_ptr, hidden, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    tl.store(y_ptr + row + cols, tl.load(x_ptr + row + cols, mask=cols < hidden), mask=cols < hidden)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    scratch = torch.empty_like(x)
    copies_rows[(x.shape[0],)](x, scratch, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return torch.empty_like(x)
