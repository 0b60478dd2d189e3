# captured: copy copy launch(scale)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@torch.inference_mode()
def run(x, w, eps, *, BLOCK):
    flat = x.contiguous().flatten().to(x.device)
    rows = flat.to(torch.float16).view_as(x).float().chunk(2)
    y = torch.empty(x.shape, dtype=torch.result_type(x, rows[0]), device=x.device)
    scale[(triton.cdiv(x.numel(), BLOCK),)](flat, y, x.numel(), BLOCK)
    return y.reshape(x.shape)
