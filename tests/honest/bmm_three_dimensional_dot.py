# honest on batched_matmul: tl.dot on three-dimensional blocks, several batches a program
# naive checkers refuse it because: a dot of rank three is not recognised as a matrix product
import torch
import triton
import triton.language as tl

SPACE = {"BB": [2, 4], "BM": [16, 32], "BN": [16, 32], "BK": [32], "num_warps": [4]}
TRIALS = [{"BB": 4, "BM": 32, "BN": 32, "BK": 32, "num_warps": 4}]


@triton.jit
def batched_dot(
    a_ptr, b_ptr, c_ptr, B, M, N, K, BB: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    batch = (tl.program_id(2) * BB + tl.arange(0, BB)).to(tl.int64)[:, None, None]
    rows = (tl.program_id(0) * BM + tl.arange(0, BM))[None, :, None]
    cols = (tl.program_id(1) * BN + tl.arange(0, BN))[None, None, :]
    accumulator = tl.zeros((BB, BM, BN), tl.float32)
    for start in range(0, K, BK):
        ka = (start + tl.arange(0, BK))[None, None, :]
        kb = (start + tl.arange(0, BK))[None, :, None]
        a = tl.load(a_ptr + batch * M * K + rows * K + ka, mask=(batch < B) & (rows < M) & (ka < K), other=0.0)
        b = tl.load(b_ptr + batch * K * N + kb * N + cols, mask=(batch < B) & (kb < K) & (cols < N), other=0.0)
        accumulator += tl.dot(a, b, input_precision="ieee")
    inside = (batch < B) & (rows < M) & (cols < N)
    tl.store(c_ptr + batch * M * N + rows * N + cols, accumulator.to(c_ptr.dtype.element_ty), mask=inside)


def run(a, b, *, BB, BM, BN, BK, num_warps):
    (B, M, K), N = a.shape, b.shape[2]
    c = torch.empty((B, M, N), dtype=a.dtype, device=a.device)
    batched_dot[(triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(B, BB))](
        a, b, c, B, M, N, K, BB=BB, BM=BM, BN=BN, BK=BK, num_warps=num_warps
    )
    return c
