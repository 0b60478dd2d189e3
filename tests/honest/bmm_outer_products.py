# honest on batched_matmul: no tensor cores; a sum over K of broadcast products, reduced in registers
# naive checkers refuse it because: there is no tl.dot, and multiply-and-sum looks like an elementwise kernel
import torch
import triton
import triton.language as tl

SPACE = {"BM": [8, 16], "BN": [16, 32], "BK": [16, 32], "num_warps": [4]}
TRIALS = [{"BM": 16, "BN": 32, "BK": 16, "num_warps": 4}]


@triton.jit
def batched_products(a_ptr, b_ptr, c_ptr, M, N, K, sb, sk, sn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + batch * M * K + rows[:, None] * K + k, mask=(rows[:, None] < M) & (k < K), other=0.0
        ).to(tl.float32)
        b = tl.load(
            b_ptr + batch * sb + cols[:, None] * sn + k * sk, mask=(cols[:, None] < N) & (k < K), other=0.0
        ).to(tl.float32)
        total += tl.sum(a[:, None, :] * b[None, :, :], 2)
    place = c_ptr + batch * M * N + rows[:, None] * N + cols
    tl.store(place, total.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols < N))


def run(a, b, *, BM, BN, BK, num_warps):
    (B, M, K), N = a.shape, b.shape[2]
    bt = b.transpose(1, 2)  # a view: [B, N, K]
    c = torch.empty((B, M, N), dtype=a.dtype, device=a.device)
    batched_products[(triton.cdiv(M, BM), triton.cdiv(N, BN), B)](
        a, bt, c, M, N, K, bt.stride(0), bt.stride(2), bt.stride(1), BM=BM, BN=BN, BK=BK, num_warps=num_warps
    )
    return c
