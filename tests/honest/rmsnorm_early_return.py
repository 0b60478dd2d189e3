# honest on rmsnorm: returns at once where there is nothing to do, and takes another kernel for rows of one block
# naive checkers refuse it because: an early return launches no kernel, and which kernel runs depends on the shape
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128, 1024], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 128, "num_warps": 4}]


@triton.jit
def rmsnorm_one_block(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, 0) / hidden + eps)
    tl.store(y_ptr + row + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def rmsnorm_long_rows(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + cols, mask=cols < hidden, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, 0) / hidden + eps)
    for start in range(0, hidden, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < hidden
        x = tl.load(x_ptr + row + cols, mask=inside).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=inside).to(tl.float32)
        tl.store(y_ptr + row + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    tokens, hidden = x.shape
    kernel = rmsnorm_one_block if hidden <= BLOCK else rmsnorm_long_rows
    kernel[(tokens,)](x, weight, y, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
