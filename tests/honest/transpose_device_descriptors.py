# honest on transposed_copy: tensor descriptors made on the device
# naive checkers refuse it because: rows must start on 16 bytes, so most shapes are outside its domain
import torch
import triton
import triton.language as tl

SPACE = {"TILE": [32, 64], "num_warps": [4]}
WHERE = ["M % 8 == 0", "N % 8 == 0"]
TRIALS = [{"TILE": 64, "num_warps": 4}]


@triton.jit
def transpose_descriptors(x_ptr, y_ptr, M, N, TILE: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [TILE, TILE])
    y_desc = tl.make_tensor_descriptor(y_ptr, [N, M], [M, 1], [TILE, TILE])
    m, n = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    y_desc.store([n, m], x_desc.load([m, n]).T)


def run(x, *, TILE, num_warps):
    M, N = x.shape
    y = torch.empty((N, M), dtype=x.dtype, device=x.device)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=x.device))
    transpose_descriptors[(triton.cdiv(M, TILE), triton.cdiv(N, TILE))](x, y, M, N, TILE=TILE, num_warps=num_warps)
    return y
