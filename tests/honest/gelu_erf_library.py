# honest on gelu_erf: erf, as the reference says, of triton.language
# naive checkers refuse it because: it expects the tanh form that most kernels use
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "num_warps": [4]}
TRIALS = [{"BLOCK": 256, "num_warps": 4}]


@triton.jit
def gelu_exact(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + index, mask=index < count)
    y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + index, y, mask=index < count)


def run(x, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    gelu_exact[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return y
