# refused: policy/host_data_not_allowed
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    table = torch.tensor([0.1, 0.2, 0.3], device=x.device)
    y = torch.empty_like(x)
    scale[(24,)](table, y, 3, BLOCK)
    return y
