# captured: mm copy launch(scale)
# given: library=mm hybrid
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    gram = torch.empty(64, 64, device=x.device)
    torch.mm(x, x.t(), out=gram)
    half = gram.to(torch.bfloat16, memory_format=torch.contiguous_format)
    y = torch.empty_like(x)
    scale[(24,)](half, y, x.numel(), BLOCK)
    return y
