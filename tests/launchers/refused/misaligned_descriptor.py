# refused: capture/misaligned_descriptor
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def apply(x_desc, y_ptr):
    pass

def run(x, w, eps, *, BLOCK):
    y = torch.empty_like(x)
    apply[(4,)](TensorDescriptor.from_tensor(x[:, 1:33], [16, 32]), y)
    return y
