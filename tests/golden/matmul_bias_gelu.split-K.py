"""c = gelu(a @ b + bias), the tanh form of GELU, fp32 accumulation.

Split-K: SPLIT_K programs share a tile; a second kernel adds their float32 parts in a fixed order.
"""

import torch
import triton
import triton.language as tl

SPACE = {
    "BLOCK_M": [16, 64, 128, 256],
    "BLOCK_N": [32, 64, 128, 256],
    "BLOCK_K": [32, 64, 128],
    "GROUP_M": [1, 4, 8],
    "SPLIT_K": [2, 4, 8, 16],
    "num_warps": [4, 8],
    "num_stages": [2, 3, 4, 5],
}
WHERE = [
    "(BLOCK_M + BLOCK_N) * BLOCK_K * 2 * num_stages <= 231424",
    "BLOCK_M * BLOCK_N <= 32768",
    "num_warps == 4 or BLOCK_M * BLOCK_N >= 4096",
]
TRIALS = [
    {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8, "SPLIT_K": 2, "num_warps": 8, "num_stages": 4},
    {"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "SPLIT_K": 2, "num_warps": 8, "num_stages": 4},
    {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8, "SPLIT_K": 2, "num_warps": 8, "num_stages": 3},
]


@triton.jit
def matmul_bias_gelu_tile(
    a_ptr, b_ptr, partial_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, SPLIT_K: tl.constexpr,
):
    """One part of the sum over K of one tile."""
    tile = tl.program_id(0)
    part = tl.program_id(1)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    # Tiles run down GROUP_M rows before the next column, so that the operands of a band stay in L2.
    in_band = tile % (GROUP_M * tiles_n)
    first = tile // (GROUP_M * tiles_n) * GROUP_M
    height = min(tiles_m - first, GROUP_M)
    tile_m = first + in_band % height
    tile_n = in_band // height
    row = (tile_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    col = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    # Each part takes an equal number of whole blocks of K.
    span = tl.cdiv(tl.cdiv(K, BLOCK_K), SPLIT_K) * BLOCK_K
    end = min(K, (part + 1) * span)
    k = (part * span).to(tl.int64) + tl.arange(0, BLOCK_K)
    a_at = a_ptr + row * K + k[None, :]
    b_at = b_ptr + k[:, None] * N + col
    product = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(part * span, end, BLOCK_K):
        in_k = tl.arange(0, BLOCK_K) < end - start
        a = tl.load(a_at, mask=(row < M) & in_k[None, :], other=0.0)
        b = tl.load(b_at, mask=in_k[:, None] & (col < N), other=0.0)
        product = tl.dot(a, b, product, input_precision="ieee")
        a_at += BLOCK_K
        b_at += BLOCK_K * N
    inside = (row < M) & (col < N)
    place = (part * M + row) * N + col
    tl.store(partial_ptr + place, product, mask=inside)


@triton.jit
def matmul_bias_gelu_join(
    partial_ptr, bias_ptr, c_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    SPLIT_K: tl.constexpr,
):
    """Adds the parts, then the epilogue."""
    row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    col = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK))[None, :]
    product = tl.zeros((ROWS, BLOCK), tl.float32)
    for part in range(SPLIT_K):
        place = (part * M + row) * N + col
        product += tl.load(partial_ptr + place, mask=(row < M) & (col < N), other=0.0)
    inside = (row < M) & (col < N)
    bias = tl.load(bias_ptr + col, mask=col < N, other=0.0).to(tl.float32)
    total = product + bias
    c = total * tl.sigmoid((total + total * total * total * 0.044715) * 1.5957691216057308)
    tl.store(c_ptr + row * N + col, c.to(c_ptr.dtype.element_ty), mask=inside)


def run(a, b, bias, *, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, SPLIT_K, num_warps, num_stages):
    M, K = a.shape
    _, N = b.shape
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    partial = torch.empty((SPLIT_K, M, N), dtype=torch.float32, device=a.device)
    matmul_bias_gelu_tile[(triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N), SPLIT_K)](
        a, b, partial, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M,
        SPLIT_K=SPLIT_K, num_warps=num_warps, num_stages=num_stages,
    )
    matmul_bias_gelu_join[(triton.cdiv(M, 4), triton.cdiv(N, 256))](
        partial, bias, c, M, N, ROWS=4, BLOCK=256, SPLIT_K=SPLIT_K,
    )
    return c
