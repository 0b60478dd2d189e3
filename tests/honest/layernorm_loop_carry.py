# honest on layernorm: a while loop over blocks whose state is None on the first turn, resolved when it is compiled
# naive checkers refuse it because: branches on constants leave code that never runs
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [512, 2048], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 512, "num_warps": 4}]


@triton.jit
def row_sum(ptr, n, shift, BLOCK: tl.constexpr, SQUARED: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    start = 0
    while start < n:
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
        if SQUARED:
            x = tl.where(cols < n, x - shift, 0.0)
            total += x * x
        else:
            total += x
        start += BLOCK
    return tl.sum(total, 0)


@triton.jit
def layernorm_while(x_ptr, weight_ptr, bias_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    mean = row_sum(x_ptr + row, hidden, 0.0, BLOCK, False) / hidden
    scale = 1 / tl.sqrt(row_sum(x_ptr + row, hidden, mean, BLOCK, True) / hidden + eps)
    start = 0
    while start < hidden:
        cols = start + tl.arange(0, BLOCK)
        inside = cols < hidden
        x = tl.load(x_ptr + row + cols, mask=inside).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=inside).to(tl.float32)
        bias = tl.load(bias_ptr + cols, mask=inside).to(tl.float32)
        tl.store(y_ptr + row + cols, ((x - mean) * scale * weight + bias).to(y_ptr.dtype.element_ty), mask=inside)
        start += BLOCK


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    layernorm_while[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
