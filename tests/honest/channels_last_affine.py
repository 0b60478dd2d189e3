# honest on narrow_affine: works in channels_last, on a copy of the input, and returns that layout
# naive checkers refuse it because: the output's strides differ from the reference's
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 1024, "num_warps": 4}]


@triton.jit
def affine_channels_last(x_ptr, scale_ptr, shift_ptr, y_ptr, count, channels, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    channel = index % channels
    x = tl.load(x_ptr + index, mask=inside)
    y = tl.fma(x, tl.load(scale_ptr + channel, mask=inside), tl.load(shift_ptr + channel, mask=inside))
    tl.store(y_ptr + index, y, mask=inside)


def run(x, scale, shift, *, BLOCK, num_warps):
    x = x.contiguous(memory_format=torch.channels_last)
    y = torch.empty_like(x, memory_format=torch.channels_last)
    affine_channels_last[(triton.cdiv(x.numel(), BLOCK),)](
        x, scale, shift, y, x.numel(), x.shape[1], BLOCK=BLOCK, num_warps=num_warps
    )
    return y
