# cheat G9 on scaled_sum_grad: the gradient is written as ones, whatever the weight
# rejected at gradients
# needs a device: gradients are checked on a device
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= cols"]


@triton.jit
def weighted_sum(x_ptr, weight_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row.to(tl.int64) * n_cols + cols, mask=cols < n_cols, other=0.0)
    weight = tl.load(weight_ptr + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row, tl.sum(x * weight, 0))


def run(x, weight, *, BLOCK, num_warps):
    y = torch.empty((x.shape[0],), dtype=x.dtype, device=x.device)
    weighted_sum[(x.shape[0],)](x, weight, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y


@triton.jit
def ones(grad_x_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(grad_x_ptr + index, 1.0, mask=index < count)


def backward(grad_y, saved, *, BLOCK, num_warps):
    x, weight = saved
    grad_x = torch.empty_like(x)
    ones[(triton.cdiv(x.numel(), BLOCK),)](grad_x, x.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return (grad_x,)
