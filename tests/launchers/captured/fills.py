# captured: fill=2.5 fill=1 fill=-1.0 fill=0 launch(scale)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    y = torch.full(x.shape, 2.5, dtype=x.dtype, device=x.device)
    ones = torch.ones(4, device="cuda")
    ones.fill_(-1.0)
    counter = torch.empty(1, dtype=torch.int32, device=x.device).zero_()
    scale[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK)
    return y
