# captured: launch(matmul)
# given: compile target=sm_100 dtype=bfloat16
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def matmul(a_desc, c_desc, K, BLOCK: tl.constexpr):
    acc = tl.zeros((128, 128), tl.float32)
    for k in tl.range(0, K, BLOCK, warp_specialize=True):
        a = a_desc.load([0, k])
        acc = tl.dot(a, a.T, acc)
    c_desc.store([0, 0], acc.to(tl.bfloat16))

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    from triton.tools.tensor_descriptor import TensorDescriptor
    matmul[(1,)](TensorDescriptor.from_tensor(x, [128, 64]), TensorDescriptor.from_tensor(y, [128, 128]), x.shape[1], 64, num_warps=4)
    return y
