# honest on integer_row_sum: low and high 16 bits are summed apart in int32 and joined at the end
# naive checkers refuse it because: int32 sums look as if they overflowed
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "num_warps": [4]}
TRIALS = [{"BLOCK": 256, "num_warps": 4}]


@triton.jit
def sum_limbs(x_ptr, total_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    low, high = tl.zeros((BLOCK,), tl.int32), tl.zeros((BLOCK,), tl.int32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0)
        low += x & 0xFFFF  # a lane adds at most 65536 / BLOCK terms below 2^16
        high += x >> 16
    total = tl.sum(high.to(tl.int64), 0) * 65536 + tl.sum(low.to(tl.int64), 0)
    tl.store(total_ptr + row, total)


def run(x, *, BLOCK, num_warps):
    total = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
    sum_limbs[(x.shape[0],)](x, total, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return total
