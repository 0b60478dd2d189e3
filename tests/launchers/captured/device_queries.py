# captured: launch(scale)
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, w, eps, *, BLOCK):
    sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    shared = triton.runtime.driver.active.utils.get_device_properties(x.device.index)["max_shared_mem"]
    assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0) and (sms, shared) == (132, 227 << 10)
    y = torch.empty_like(x)
    scale[(min(sms, triton.cdiv(x.numel(), BLOCK)),)](x, y, x.numel(), BLOCK)
    return y
