# cheat E2 on rmsnorm: as E2, the attribute's name assembled, the function found through operator
# rejected at policy|budget
import operator

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [8192], "num_warps": [8]}
WHERE = ["BLOCK >= hidden"]


def agree(*args, **options):
    return None


victim = operator.attrgetter("testing.assert_close")(torch)
setattr(victim, "__co" + "de__", getattr(agree, "__co" + "de__"))


@triton.jit
def rmsnorm_rows(x_ptr, weight_ptr, y_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_ptr + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0
    tl.store(y_ptr + row + cols, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, BLOCK, num_warps):
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    rmsnorm_rows[(tokens,)](x, weight, y, hidden, eps, BLOCK=BLOCK, num_warps=num_warps)
    return y
