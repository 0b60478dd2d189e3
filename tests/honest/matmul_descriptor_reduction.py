# honest on matmul_fp32: split-K whose partial tiles are added by TMA, a descriptor's atomic_add into a zeroed output
# naive checkers refuse it because: no atomic on a pointer is to be seen, and the order of additions is not fixed
# needs a device: Triton's interpreter has no reduction through a descriptor
import torch
import triton
import triton.language as tl

SPACE = {"BM": [32, 64], "BN": [32, 64], "BK": [32], "SPLIT": [2, 4], "num_warps": [4]}
WHERE = ["K % 4 == 0", "N % 4 == 0"]
TRIALS = [{"BM": 32, "BN": 32, "BK": 32, "SPLIT": 2, "num_warps": 4}]


@triton.jit
def matmul_split_k(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr
):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    accumulator = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.program_id(2) * BK, K, SPLIT * BK):
        accumulator = tl.dot(a_desc.load([row, k]), b_desc.load([k, col]), accumulator, input_precision="ieee")
    c_desc.atomic_add([row, col], accumulator)


def run(a, b, *, BM, BN, BK, SPLIT, num_warps):
    (M, K), N = a.shape, b.shape[1]
    c = torch.zeros((M, N), dtype=a.dtype, device=a.device)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=a.device))
    matmul_split_k[(triton.cdiv(M, BM), triton.cdiv(N, BN), SPLIT)](
        a, b, c, M, N, K, BM=BM, BN=BN, BK=BK, SPLIT=SPLIT, num_warps=num_warps
    )
    return c
