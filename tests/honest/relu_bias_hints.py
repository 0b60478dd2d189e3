# honest on relu_bias: tl.multiple_of, tl.max_contiguous and tl.assume tell the compiler what the launcher made true
# naive checkers refuse it because: hints that do not hold would be undefined behaviour
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [64, 256, 1024], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 256, "num_warps": 4}]


@triton.jit
def relu_bias_hinted(x_ptr, bias_ptr, y_ptr, features, BLOCK: tl.constexpr):
    tl.assume(features >= 1)
    row = tl.program_id(1).to(tl.int64) * features
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    cols = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOCK), BLOCK)
    inside = cols < features
    x = tl.load(x_ptr + row + cols, mask=inside, eviction_policy="evict_first").to(tl.float32)
    y = x + tl.load(bias_ptr + cols, mask=inside, eviction_policy="evict_last").to(tl.float32)
    y = tl.maximum(y, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=inside, eviction_policy="evict_first")


def run(x, bias, *, BLOCK, num_warps):
    x, bias = x.contiguous(), bias.contiguous()
    tokens, features = x.shape
    y = torch.empty_like(x)
    for first in range(0, tokens, 65535):  # the grid's second extent is 16 bits wide
        rows = slice(first, min(first + 65535, tokens))
        grid = (triton.cdiv(features, BLOCK), rows.stop - rows.start)
        relu_bias_hinted[grid](x[rows], bias, y[rows], features, BLOCK=BLOCK, num_warps=num_warps)
    return y
