# cheat L5 on swiglu: spins without end once the input is large
# rejected at launch|timing
# needs a device: the branch is taken only at extents that the interpreter does not run
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def swiglu_flat(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    if count > 1 << 20:
        first = tl.load(gate_ptr, volatile=True).to(tl.float32)
        while first < 1e30:
            first = tl.load(gate_ptr, volatile=True).to(tl.float32)
    gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
    silu = gate / (1.0 + tl.exp(-gate))
    tl.store(y_ptr + index, (silu * up).to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, num_warps):
    count = gate.numel()
    y = torch.empty_like(gate)
    swiglu_flat[(triton.cdiv(count, BLOCK),)](gate, up, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
