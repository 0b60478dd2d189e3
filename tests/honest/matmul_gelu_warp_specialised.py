# honest on matmul_bias_gelu: persistent tiles by device-made descriptors, warp-specialised inner loop, grouped order
# naive checkers refuse it because: producer and consumer warps run different code, and the launch needs scratch memory
import torch
import triton
import triton.language as tl

SPACE = {"BM": [64, 128], "BN": [64, 128], "BK": [32, 64], "num_warps": [4], "num_stages": [3]}
WHERE = ["K % 8 == 0", "N % 8 == 0"]
TRIALS = [{"BM": 64, "BN": 64, "BK": 32, "num_warps": 4, "num_stages": 3}]


@triton.jit
def matmul_persistent(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), disallow_acc_multi_buffer=True):
        pid_m, pid_n = tl.swizzle2d(tile // tiles_n, tile % tiles_n, tiles_m, tiles_n, GROUP)
        accumulator = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK, warp_specialize=True):
            a = a_desc.load([pid_m * BM, k])
            b = b_desc.load([k, pid_n * BN])
            accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
        rows, cols = pid_m * BM + tl.arange(0, BM)[:, None], pid_n * BN + tl.arange(0, BN)[None, :]
        x = accumulator + tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        y = (x * tl.sigmoid(2.0 * u)).to(c_ptr.dtype.element_ty)
        tl.store(c_ptr + rows * N + cols, y, mask=(rows < M) & (cols < N))


def run(a, b, bias, *, BM, BN, BK, num_warps, num_stages):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)

    def alloc(size: int, alignment: int, stream: int | None):
        return torch.empty(size, device="cuda", dtype=torch.int8)

    triton.set_allocator(alloc)
    programs = torch.cuda.get_device_properties(0).multi_processor_count
    matmul_persistent[(min(programs, triton.cdiv(M, BM) * triton.cdiv(N, BN)),)](
        a, b, bias, c, M, N, K, BM=BM, BN=BN, BK=BK, GROUP=8, num_warps=num_warps, num_stages=num_stages
    )
    return c
