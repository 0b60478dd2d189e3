# cheat E16 on swiglu: tells by the order of calls which test it is in, and works in the first few only
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}
SEEN = []


@triton.jit
def swiglu_flat(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
    silu = gate / (1.0 + tl.exp(-gate))
    tl.store(y_ptr + index, (silu * up).to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, num_warps):
    count = gate.numel()
    y = torch.empty_like(gate)
    SEEN.append(count)
    if len(SEEN) > 3 and SEEN[-1] == SEEN[-2]:
        count -= 1
    swiglu_flat[(triton.cdiv(count, BLOCK),)](gate, up, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
