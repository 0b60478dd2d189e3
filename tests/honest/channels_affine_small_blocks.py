# honest on channels_affine: blocks of 256 elements over a tensor of four axes
# naive checkers refuse it because: it makes many short programs, which a slow emulation may give up on
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128, 256], "num_warps": [2, 4]}
TRIALS = [{"BLOCK": 256, "num_warps": 2}]


@triton.jit
def affine_flat(x_ptr, scale_ptr, shift_ptr, y_ptr, count, channels, pixels, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    channel = index // pixels % channels
    y = tl.load(x_ptr + index, mask=inside) * tl.load(scale_ptr + channel, mask=inside)
    tl.store(y_ptr + index, y + tl.load(shift_ptr + channel, mask=inside), mask=inside)


def run(x, scale, shift, *, BLOCK, num_warps):
    _, channels, height, width = x.shape
    y = torch.empty_like(x)
    affine_flat[(triton.cdiv(x.numel(), BLOCK),)](
        x, scale, shift, y, x.numel(), channels, height * width, BLOCK=BLOCK, num_warps=num_warps
    )
    return y
