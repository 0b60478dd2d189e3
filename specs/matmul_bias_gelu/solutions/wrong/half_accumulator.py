# rejected at budget: the running sum is rounded to the output's half precision at every step over K
import torch
import triton
import triton.language as tl

SPACE = {
    "BM": [64, 128, 256],
    "BN": [64, 128, 256],
    "BK": [32, 64],
    "GROUP": [4, 8, 16],
    "num_warps": [4, 8],
    "num_stages": [3, 4],
}
WHERE = ["BM * BN <= 32768", "(BM + BN) * BK * 2 * num_stages <= 229376"]
TRIALS = [
    {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8, "num_warps": 8, "num_stages": 3},
    {"BM": 128, "BN": 128, "BK": 64, "GROUP": 8, "num_warps": 4, "num_stages": 4},
]


@triton.jit
def gelu_tanh(x):
    """0.5 x (1 + tanh(u)) = x sigmoid(2u), which keeps its relative precision where tanh is close to -1."""
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)  # sqrt(2 / pi)
    return x * tl.sigmoid(2.0 * u)


@triton.jit
def matmul_bias_gelu_tiles(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BN)
    group = tl.program_id(0) // (GROUP * tiles_n)
    place = tl.program_id(0) % (GROUP * tiles_n)
    group_rows = tl.minimum(tl.cdiv(M, BM) - group * GROUP, GROUP)
    rows = (group * GROUP + place % group_rows).to(tl.int64) * BM + tl.arange(0, BM)
    cols = (place // group_rows).to(tl.int64) * BN + tl.arange(0, BN)

    accumulator = tl.zeros((BM, BN), c_ptr.dtype.element_ty)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + k, mask=(rows[:, None] < M) & (k < K), other=0.0)
        b = tl.load(b_ptr + k[:, None].to(tl.int64) * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        accumulator += tl.dot(a, b, input_precision="ieee").to(accumulator.dtype)

    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    c = gelu_tanh(accumulator.to(tl.float32) + bias)
    inside = (rows[:, None] < M) & (cols < N)
    tl.store(c_ptr + rows[:, None] * N + cols, c.to(c_ptr.dtype.element_ty), mask=inside)


def run(a, b, bias, *, BM, BN, BK, GROUP, num_warps, num_stages):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    matmul_bias_gelu_tiles[(triton.cdiv(M, BM) * triton.cdiv(N, BN),)](
        a, b, bias, c, M, N, K, BM=BM, BN=BN, BK=BK, GROUP=GROUP, num_warps=num_warps, num_stages=num_stages
    )
    return c
