# cheat H1 on layernorm: writes the bias: the output's mean is right
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


@triton.jit
def bias_rows(bias_ptr, y_ptr, hidden, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    bias = tl.load(bias_ptr + cols, mask=cols < hidden, other=0.0)
    tl.store(y_ptr + tl.program_id(0).to(tl.int64) * hidden + cols, bias, mask=cols < hidden)


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    bias_rows[(x.shape[0],)](bias, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
