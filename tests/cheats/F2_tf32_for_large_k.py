# cheat F2 on matmul_fp32: TF32 only where K is large
# rejected at ir|budget
import torch
import triton
import triton.language as tl

SPACE = {"BM": [64], "BN": [64], "BK": [32], "num_warps": [4]}


@triton.jit
def matmul_tiles(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        if K > 1024:
            acc = tl.dot(a, b, acc, input_precision="tf32")
        else:
            acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows * N + cols, acc, mask=(rows < M) & (cols < N))


def run(a, b, *, BM, BN, BK, num_warps):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    matmul_tiles[(triton.cdiv(M, BM), triton.cdiv(N, BN))](a, b, c, M, N, K, BM=BM, BN=BN, BK=BK, num_warps=num_warps)
    return c
