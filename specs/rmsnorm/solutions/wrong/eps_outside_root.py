# rejected at transforms: eps is added to the root, not under it: seen where the mean square is small
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192, 16384], "num_warps": [4, 8, 16]}
WHERE = ["BLOCK >= hidden"]
TRIALS = [{"BLOCK": 8192, "num_warps": 8}, {"BLOCK": 8192, "num_warps": 16}]


@triton.jit
def rmsnorm_rows(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0 / (tl.sqrt(tl.sum(x * x, 0) / hidden) + eps)
    tl.store(y_ptr + row + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, BLOCK, num_warps):
    y = torch.empty_like(x)
    tokens, hidden = x.shape
    rmsnorm_rows[(tokens,)](x, weight, y, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
