# honest on matmul_bias_gelu: num_ctas=2, two blocks of a cluster share a tile
# naive checkers refuse it because: the hardware grid has twice as many blocks as there are programs
import torch
import triton
import triton.language as tl

SPACE = {"BM": [64, 128], "BN": [64, 128], "BK": [32, 64], "num_ctas": [1, 2], "num_warps": [4]}
TRIALS = [{"BM": 64, "BN": 64, "BK": 32, "num_ctas": 2, "num_warps": 4}]


@triton.jit
def matmul_tiles(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)[None, :]
    accumulator = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows * K + k[None, :], mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None].to(tl.int64) * N + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
    x = accumulator + tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    y = (x * tl.sigmoid(2.0 * u)).to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows * N + cols, y, mask=(rows < M) & (cols < N))


def run(a, b, bias, *, BM, BN, BK, num_ctas, num_warps):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    matmul_tiles[(triton.cdiv(M, BM), triton.cdiv(N, BN))](
        a, b, bias, c, M, N, K, BM=BM, BN=BN, BK=BK, num_ctas=num_ctas, num_warps=num_warps
    )
    return c
