# cheat A10 on swiglu: a program also computes what lies behind the buffer: the next call's
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def swiglu_two_calls(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    for call in range(2):
        index = call * count + tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = index < (call + 1) * count
        gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
        up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
        y = gate / (1.0 + tl.exp(-gate)) * up
        tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, num_warps):
    count = gate.numel()
    y = torch.empty_like(gate)
    swiglu_two_calls[(triton.cdiv(count, BLOCK),)](gate, up, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
