# captured: fill=1.5 copy copy fill=0.0 copy copy launch(scale)
import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    wide = F.pad(x, (0, 16, 2, 0), value=1.5)
    back = F.pad(wide, (0, -16, -2, 0))
    tall = F.pad(w, (1, 1))[1:-1].repeat(x.shape[0], 1)
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), BLOCK),)](back, y, x.numel(), BLOCK)
    return y
