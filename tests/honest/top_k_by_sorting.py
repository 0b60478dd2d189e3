# honest on top_k_values: floats as integers that sort alike, a bitonic sort, and back
# naive checkers refuse it because: it sorts bits, not numbers
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [1, 4]}
WHERE = ["cols <= 4096"]


@triton.jit
def top_k_sorted(x_ptr, y_ptr, n_cols, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    x = tl.where(x != x, float("nan"), x)  # one NaN, positive: above +inf
    bits = x.to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    key = tl.where(cols < n_cols, key, -2147483648)
    key = tl.sort(key, descending=True)
    bits = tl.where(key < 0, key ^ 0x7FFFFFFF, key)
    tl.store(y_ptr + row * K + cols, bits.to(tl.float32, bitcast=True), mask=cols < K)


def run(x, k, *, num_warps):
    rows, cols = x.shape
    values = torch.empty((rows, k), dtype=x.dtype, device=x.device)
    top_k_sorted[(rows,)](x, values, cols, K=k, BLOCK=triton.next_power_of_2(cols), num_warps=num_warps)
    return values
