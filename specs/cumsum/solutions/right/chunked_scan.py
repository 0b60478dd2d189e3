"""Each row is cut in chunks that are summed in parallel; a chunk then starts from the sum of those before it. More
programs than rows, for few long rows.
"""

import torch
import triton
import triton.language as tl

SPACE = {"CHUNK": [1024, 2048, 4096], "num_warps": [4, 8]}
TRIALS = [{"CHUNK": 4096, "num_warps": 8}]


@triton.jit
def chunk_sums(x_ptr, sum_ptr, n_cols, CHUNK: tl.constexpr):
    row, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    cols = chunk * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(sum_ptr + row * tl.num_programs(1) + chunk, tl.sum(x, 0))


@triton.jit
def scan_chunks(x_ptr, sum_ptr, y_ptr, n_cols, CHUNK: tl.constexpr, CHUNKS: tl.constexpr):
    row, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    before = tl.arange(0, CHUNKS)
    sums = tl.load(sum_ptr + row * tl.num_programs(1) + before, mask=before < chunk, other=0.0)
    cols = chunk * CHUNK + tl.arange(0, CHUNK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=0.0)
    tl.store(y_ptr + row * n_cols + cols, tl.sum(sums, 0) + tl.cumsum(x, 0), mask=inside)


def run(x, *, CHUNK, num_warps):
    n_rows, n_cols = x.shape
    chunks = triton.cdiv(n_cols, CHUNK)
    sums = torch.empty((n_rows, chunks), dtype=torch.float32, device=x.device)
    y = torch.empty_like(x)
    chunk_sums[(n_rows, chunks)](x, sums, n_cols, CHUNK=CHUNK, num_warps=num_warps)
    scan_chunks[(n_rows, chunks)](
        x, sums, y, n_cols, CHUNK=CHUNK, CHUNKS=triton.next_power_of_2(chunks), num_warps=num_warps
    )
    return y
