# cheat F3 on batched_matmul: rounds the accumulator to half precision after each step over K
# rejected at budget|lattice|ir|shapes
import torch
import triton
import triton.language as tl

SPACE = {"BM": [64], "BN": [64], "BK": [16], "num_warps": [4]}


@triton.jit
def matmul_rounded(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float16)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + batch * M * K + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + batch * K * N + k[:, None] * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        acc = (acc.to(tl.float32) + tl.dot(a, b, input_precision="ieee")).to(tl.float16)
    c = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + batch * M * N + rows * N + cols, c, mask=(rows < M) & (cols < N))


def run(a, b, *, BM, BN, BK, num_warps):
    (B, M, K), N = a.shape, b.shape[2]
    c = torch.empty((B, M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), B)
    matmul_rounded[grid](a, b, c, M, N, K, BM=BM, BN=BN, BK=BK, num_warps=num_warps)
    return c
