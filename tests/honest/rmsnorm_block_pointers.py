# honest on rmsnorm: block pointers that advance, with boundary checks and zero padding in place of masks
# naive checkers refuse it because: no load has a mask, so it looks as if it read outside
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128, 512, 1024], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 512, "num_warps": 4}]


@triton.jit
def rmsnorm_block_pointers(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    x_block = tl.make_block_ptr(x_ptr + row, (hidden,), (1,), (0,), (BLOCK,), (0,))
    y_block = tl.make_block_ptr(y_ptr + row, (hidden,), (1,), (0,), (BLOCK,), (0,))
    weight_block = tl.make_block_ptr(weight_ptr, (hidden,), (1,), (0,), (BLOCK,), (0,))
    squares = tl.zeros((BLOCK,), tl.float32)
    reading = x_block
    for _ in range(0, tl.cdiv(hidden, BLOCK)):
        x = tl.load(reading, boundary_check=(0,), padding_option="zero").to(tl.float32)
        squares += x * x
        reading = tl.advance(reading, (BLOCK,))
    scale = tl.rsqrt(tl.sum(squares, 0) / hidden + eps)
    for _ in range(0, tl.cdiv(hidden, BLOCK)):
        x = tl.load(x_block, boundary_check=(0,), padding_option="zero").to(tl.float32)
        weight = tl.load(weight_block, boundary_check=(0,), padding_option="zero").to(tl.float32)
        tl.store(y_block, (x * scale * weight).to(y_ptr.dtype.element_ty), boundary_check=(0,))
        x_block = tl.advance(x_block, (BLOCK,))
        y_block = tl.advance(y_block, (BLOCK,))
        weight_block = tl.advance(weight_block, (BLOCK,))


def run(x, weight, eps, *, BLOCK, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    rmsnorm_block_pointers[(tokens,)](x, weight, y, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
