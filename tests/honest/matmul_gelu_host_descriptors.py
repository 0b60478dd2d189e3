# honest on matmul_bias_gelu: tensor descriptors made on the host, whose bounds TMA checks
# naive checkers refuse it because: no pointer, stride or mask is to be seen in the kernel
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

SPACE = {"BM": [16, 64, 128], "BN": [32, 128], "BK": [32, 64], "num_warps": [4, 8], "num_stages": [3]}
WHERE = ["K % 8 == 0", "N % 8 == 0"]
TRIALS = [{"BM": 16, "BN": 32, "BK": 32, "num_warps": 4, "num_stages": 3}]


@triton.jit
def matmul_descriptors(
    a_desc, b_desc, c_desc, bias_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, DTYPE: tl.constexpr
):
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    accumulator = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        accumulator = tl.dot(a_desc.load([row, k]), b_desc.load([k, col]), accumulator, input_precision="ieee")
    cols = col + tl.arange(0, BN)
    x = accumulator + tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    c_desc.store([row, col], (x * tl.sigmoid(2.0 * u)).to(DTYPE))


TRITON_DTYPES = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


def run(a, b, bias, *, BM, BN, BK, num_warps, num_stages):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    matmul_descriptors[(triton.cdiv(M, BM), triton.cdiv(N, BN))](
        TensorDescriptor.from_tensor(a, [BM, BK]),
        TensorDescriptor.from_tensor(b, [BK, BN]),
        TensorDescriptor(c, [M, N], [N, 1], [BM, BN]),
        bias, N, K, BM=BM, BN=BN, BK=BK, DTYPE=TRITON_DTYPES[a.dtype], num_warps=num_warps, num_stages=num_stages,
    )
    return c
