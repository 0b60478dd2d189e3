# captured: launch(apply)
# given: compile scratch
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def apply(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BM, BN])
    y.store([tl.program_id(0) * BM, 0], x.load([tl.program_id(0) * BM, 0]) * 2)

def allocate(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")

def run(x, w, eps, *, BLOCK):
    triton.set_allocator(allocate)
    y = torch.empty_like(x)
    apply[(4,)](x, y, x.shape[0], x.shape[1], BM=16, BN=32)
    return y
