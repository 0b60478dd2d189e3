# honest on matmul_bias_gelu: block pointers with boundary checks, the operands' order of axes written out
# naive checkers refuse it because: no load has a mask
import torch
import triton
import triton.language as tl

SPACE = {"BM": [16, 64, 128], "BN": [32, 128], "BK": [32, 64], "num_warps": [4, 8], "num_stages": [3]}
TRIALS = [{"BM": 16, "BN": 32, "BK": 32, "num_warps": 4, "num_stages": 3}]


@triton.jit
def gelu(x):
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return x * tl.sigmoid(2.0 * u)


@triton.jit
def matmul_block_pointers(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a_block = tl.make_block_ptr(a_ptr, shape=(M, K), strides=(K, 1), offsets=(m, 0), block_shape=(BM, BK), order=(1, 0))
    b_block = tl.make_block_ptr(b_ptr, shape=(K, N), strides=(N, 1), offsets=(0, n), block_shape=(BK, BN), order=(1, 0))
    accumulator = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        accumulator += tl.dot(a, b, input_precision="ieee")
        a_block, b_block = tl.advance(a_block, (0, BK)), tl.advance(b_block, (BK, 0))
    cols = n + tl.arange(0, BN)
    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    c_block = tl.make_block_ptr(c_ptr, shape=(M, N), strides=(N, 1), offsets=(m, n), block_shape=(BM, BN), order=(1, 0))
    tl.store(c_block, gelu(accumulator + bias[None, :]).to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def run(a, b, bias, *, BM, BN, BK, num_warps, num_stages):
    (M, K), N = a.shape, b.shape[1]
    c = a.new_empty((M, N))
    matmul_block_pointers[(triton.cdiv(M, BM), triton.cdiv(N, BN))](
        a, b, bias, c, M, N, K, BM=BM, BN=BN, BK=BK, num_warps=num_warps, num_stages=num_stages
    )
    return c
