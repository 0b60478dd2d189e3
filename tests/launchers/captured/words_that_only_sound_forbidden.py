# captured: launch(scale)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


# eval, exec, subprocess, a side stream, threads, torch.compile and @triton.autotune: words in a comment do no harm
def run(x, w, eps, *, BLOCK):
    stream = torch.cuda.current_stream()
    assert stream.cuda_stream == 0 and "open(" in "open(torch.softmax)"
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK)
    return y
