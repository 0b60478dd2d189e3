# honest on logsumexp: sums powers of two and converts the result with ln 2
# naive checkers refuse it because: it calls neither exp nor log
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128, 2048, 8192], "num_warps": [4, 8, 16]}
TRIALS = [{"BLOCK": 2048, "num_warps": 4}]


@triton.jit
def logsumexp_base_two(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row.to(tl.int64) * n_cols
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.load(x_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32))
    top = tl.max(top, 0)
    finite = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        total += tl.exp2((x - finite) * 1.4426950408889634)
    tl.store(y_ptr + row, tl.log2(tl.sum(total, 0)) * 0.6931471805599453 + finite)


def run(x, *, BLOCK, num_warps):
    y = torch.empty(x.shape[:1], dtype=torch.float32, device=x.device)
    logsumexp_base_two[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
