# cheat C4 on batched_matmul: reads b along its rows, which is b only if b is symmetric
# rejected at memory|budget
import torch
import triton
import triton.language as tl

SPACE = {"BM": [64], "BN": [64], "BK": [32], "num_warps": [4]}


@triton.jit
def symmetric_matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + batch * M * K + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        inside = (k[:, None] < K) & (cols < N)
        b = tl.load(b_ptr + batch * K * N + (cols * K + k[:, None]) % (K * N), mask=inside, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    c = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + batch * M * N + rows * N + cols, c, mask=(rows < M) & (cols < N))


def run(a, b, *, BM, BN, BK, num_warps):
    (B, M, K), N = a.shape, b.shape[2]
    c = torch.empty((B, M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), B)
    symmetric_matmul[grid](a, b, c, M, N, K, BM=BM, BN=BN, BK=BK, num_warps=num_warps)
    return c
