# rejected at budget: every batch multiplies with the first b
import torch
import triton
import triton.language as tl

SPACE = {"BM": [32, 64, 128], "BN": [64, 128, 256], "BK": [32, 64], "num_warps": [4, 8], "num_stages": [3, 4]}
WHERE = ["BM * BN <= 32768", "(BM + BN) * BK * 2 * num_stages <= 229376"]
TRIALS = [
    {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3},
    {"BM": 64, "BN": 128, "BK": 64, "num_warps": 4, "num_stages": 4},
]


@triton.jit
def batched_matmul_tiles(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    a_ptr += batch * M * K
    accumulator = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
    c = accumulator.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + batch * M * N + rows * N + cols, c, mask=(rows < M) & (cols < N))


def run(a, b, *, BM, BN, BK, num_warps, num_stages):
    (B, M, K), N = a.shape, b.shape[2]
    c = torch.empty((B, M, N), dtype=a.dtype, device=a.device)
    batched_matmul_tiles[(triton.cdiv(M, BM), triton.cdiv(N, BN), B)](
        a, b, c, M, N, K, BM=BM, BN=BN, BK=BK, num_warps=num_warps, num_stages=num_stages
    )
    return c
