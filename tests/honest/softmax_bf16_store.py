# honest on softmax: the output's dtype is written out, tl.bfloat16, as a kernel for one dtype may
# naive checkers refuse it because: a kernel that runs in one dtype alone fails on a float32 twin of the problem
# needs a device: the store is in bfloat16 whatever the twin's dtype
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096, 16384], "num_warps": [4, 8]}
WHERE = ["BLOCK >= cols"]
TRIALS = [{"BLOCK": 16384, "num_warps": 8}]


@triton.jit
def softmax_rows(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row + cols, mask=inside, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, 0))
    y = numerator / tl.sum(numerator, 0)
    tl.store(y_ptr + row + cols, y.to(tl.bfloat16), mask=inside)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x, dtype=torch.bfloat16)
    softmax_rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
