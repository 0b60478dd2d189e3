# cheat M5 on matmul_bias_gelu: tiles that need more shared memory than the target has
# rejected at compile
import torch
import triton
import triton.language as tl

SPACE = {"BM": [256], "BN": [256], "BK": [128], "num_warps": [8], "num_stages": [4]}


@triton.jit
def gelu_tanh(x):
    return x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))


@triton.jit
def matmul_tiles(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None].to(tl.int64) * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    c = gelu_tanh(acc + tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32))
    tl.store(c_ptr + rows * N + cols, c.to(c_ptr.dtype.element_ty), mask=(rows < M) & (cols < N))


def run(a, b, bias, *, BM, BN, BK, num_warps, num_stages):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    matmul_tiles[grid](a, b, bias, c, M, N, K, BM=BM, BN=BN, BK=BK, num_warps=num_warps, num_stages=num_stages)
    return c
