# captured: copy convolution launch(scale)
# given: library=convolution hybrid
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    image = torch.nn.functional.conv2d(x[None, None], x[:3, :3].reshape(1, 1, 3, 3).contiguous(), padding=1)
    y = torch.empty_like(x)
    scale[(24,)](image, y, x.numel(), BLOCK)
    return y
