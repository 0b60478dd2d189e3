# captured: launch(apply)
# given: compile
# arguments: tensor_map i32=64 i32=48 i64=48 i64=1 tensor_map i32=64 i32=48 i64=48 i64=1
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def apply(x_desc, y_desc):
    row = tl.program_id(0) * 16
    y_desc.store([row, 0], x_desc.load([row, 0]) * 2)

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    x_desc = TensorDescriptor.from_tensor(x, [16, 32])
    y_desc = TensorDescriptor(y, list(y.shape), list(y.stride()), [16, 32])
    apply[(4,)](x_desc, y_desc)
    return y
