# honest on matmul_bias_gelu: split-K by atomics into a zeroed float32 workspace; bias and GELU in a second launch
# naive checkers refuse it because: the result differs from run to run in its last bits
import torch
import triton
import triton.language as tl

SPACE = {"BM": [16, 64], "BN": [32, 128], "BK": [16, 64], "SPLIT": [2, 4, 8], "num_warps": [4]}
TRIALS = [{"BM": 64, "BN": 32, "BK": 16, "SPLIT": 4, "num_warps": 4}]


@triton.jit
def add_partial_products(
    a_ptr, b_ptr, total_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)[None, :]
    accumulator = tl.zeros((BM, BN), tl.float32)
    for start in range(tl.program_id(2) * BK, K, SPLIT * BK):
        k = (start + tl.arange(0, BK)).to(tl.int64)
        a = tl.load(a_ptr + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
    tl.atomic_add(total_ptr + rows * N + cols, accumulator, mask=(rows < M) & (cols < N), sem="relaxed")


@triton.jit
def bias_gelu(total_ptr, bias_ptr, c_ptr, count, N, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(total_ptr + index, mask=inside, other=0.0)
    x += tl.load(bias_ptr + index % N, mask=inside, other=0.0).to(tl.float32)
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tl.store(c_ptr + index, (x * tl.sigmoid(2.0 * u)).to(c_ptr.dtype.element_ty), mask=inside)


def run(a, b, bias, *, BM, BN, BK, SPLIT, num_warps):
    (M, K), N = a.shape, b.shape[1]
    total = torch.zeros((M, N), dtype=torch.float32, device=a.device)
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    add_partial_products[(triton.cdiv(M, BM), triton.cdiv(N, BN), SPLIT)](
        a, b, total, M, N, K, BM=BM, BN=BN, BK=BK, SPLIT=SPLIT, num_warps=num_warps
    )
    bias_gelu[(triton.cdiv(M * N, 256),)](total, bias, c, M * N, N, BLOCK=256)
    return c
