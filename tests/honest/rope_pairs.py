# honest on rope: both halves of a head at once through a dimension of two, split and joined in registers
# naive checkers refuse it because: tl.split and tl.join move values between lanes where loads would do
import torch
import triton
import triton.language as tl

SPACE = {"HEADS": [1, 4], "num_warps": [4]}
TRIALS = [{"HEADS": 4, "num_warps": 4}]


@triton.jit
def rotate(x_ptr, cos_ptr, sin_ptr, y_ptr, heads, HALF: tl.constexpr, HEADS: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    pair = tl.arange(0, HALF)
    c = tl.load(cos_ptr + token * HALF + pair)[None, :]
    s = tl.load(sin_ptr + token * HALF + pair)[None, :]
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    side = tl.arange(0, 2)
    at = (token * heads + head[:, None, None]) * (2 * HALF) + side[None, None, :] * HALF + pair[None, :, None]
    inside = head[:, None, None] < heads
    a, b = tl.split(tl.load(x_ptr + at, mask=inside, other=0.0))
    tl.store(y_ptr + at, tl.join(a * c - b * s, b * c + a * s), mask=inside)


def run(x, cos, sin, *, HEADS, num_warps):
    tokens, heads, _, half = x.shape
    y = torch.empty_like(x)
    rotate[(tokens, triton.cdiv(heads, HEADS))](x, cos, sin, y, heads, HALF=half, HEADS=HEADS, num_warps=num_warps)
    return y
