# honest on matmul_tf32: plain tl.dot on float32, which is TF32, where the spec's policy allows it
# naive checkers refuse it because: it holds every float32 problem to float32 precision
import torch
import triton
import triton.language as tl

SPACE = {"BM": [32, 128], "BN": [32, 128], "BK": [32], "num_warps": [4, 8]}
TRIALS = [{"BM": 32, "BN": 32, "BK": 32, "num_warps": 4}]


@triton.jit
def matmul_tiles(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(1).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(0).to(tl.int64) * BN + tl.arange(0, BN)[None, :]
    accumulator = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None].to(tl.int64) * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator, allow_tf32=True)
    tl.store(c_ptr + rows * N + cols, accumulator, mask=(rows < M) & (cols < N))


def run(a, b, *, BM, BN, BK, num_warps):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    matmul_tiles[(triton.cdiv(N, BN), triton.cdiv(M, BM))](
        a, b, c, M, N, K, BM=BM, BN=BN, BK=BK, num_warps=num_warps
    )
    return c
