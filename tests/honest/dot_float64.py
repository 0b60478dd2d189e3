# honest on dot_product: products and sums in float64, far more accurate than the reference
# naive checkers refuse it because: its result differs from eager's float32 sum by more than one ulp
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "PROGRAMS": [8, 128], "num_warps": [4]}
TRIALS = [{"BLOCK": 1024, "PROGRAMS": 8, "num_warps": 4}]


@triton.jit
def partial_dots(x_ptr, y_ptr, partial_ptr, length, BLOCK: tl.constexpr):
    lanes = tl.zeros((BLOCK,), tl.float64)
    for start in range(tl.program_id(0) * BLOCK, length, tl.num_programs(0) * BLOCK):
        index = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + index, mask=index < length, other=0.0).to(tl.float64)
        lanes += x * tl.load(y_ptr + index, mask=index < length, other=0.0).to(tl.float64)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(lanes, 0))


@triton.jit
def total_of(partial_ptr, total_ptr, PROGRAMS: tl.constexpr):
    tl.store(total_ptr, tl.sum(tl.load(partial_ptr + tl.arange(0, PROGRAMS)), 0).to(tl.float32))


def run(x, y, *, BLOCK, PROGRAMS, num_warps):
    partial = torch.empty((PROGRAMS,), dtype=torch.float64, device=x.device)
    total = torch.empty((), dtype=torch.float32, device=x.device)
    partial_dots[(PROGRAMS,)](x, y, partial, x.shape[0], BLOCK=BLOCK, num_warps=num_warps)
    total_of[(1,)](partial, total, PROGRAMS=PROGRAMS, num_warps=1)
    return total
