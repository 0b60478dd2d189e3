# honest on transposed_copy: square tiles, transposed in registers, both sides coalesced, block pointers of either order
# naive checkers refuse it because: it computes nothing
import torch
import triton
import triton.language as tl

SPACE = {"TILE": [16, 64], "num_warps": [4, 8]}
TRIALS = [{"TILE": 64, "num_warps": 4}]


@triton.jit
def transpose_tiles(x_ptr, y_ptr, M, N, TILE: tl.constexpr):
    m, n = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    x_block = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (m, n), (TILE, TILE), (1, 0))
    y_block = tl.make_block_ptr(y_ptr, (N, M), (M, 1), (n, m), (TILE, TILE), (1, 0))
    tl.store(y_block, tl.trans(tl.load(x_block, boundary_check=(0, 1))), boundary_check=(0, 1))


def run(x, *, TILE, num_warps):
    M, N = x.shape
    y = torch.empty((N, M), dtype=x.dtype, device=x.device)
    transpose_tiles[(triton.cdiv(M, TILE), triton.cdiv(N, TILE))](x, y, M, N, TILE=TILE, num_warps=num_warps)
    return y
