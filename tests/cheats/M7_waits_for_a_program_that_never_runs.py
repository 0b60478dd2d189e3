# cheat M7 on swiglu: a spin lock between programs that are not all resident when the grid is large
# rejected at launch|timing
# needs a device: the branch is taken only at extents that the interpreter does not run
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def swiglu_flat(gate_ptr, up_ptr, y_ptr, arrived_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    if tl.num_programs(0) > 1024:
        arrived = tl.atomic_add(arrived_ptr, 1)
        while arrived < tl.num_programs(0):
            arrived = tl.atomic_add(arrived_ptr, 0)
    gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
    silu = gate / (1.0 + tl.exp(-gate))
    tl.store(y_ptr + index, (silu * up).to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, num_warps):
    count = gate.numel()
    y = torch.empty_like(gate)
    arrived = torch.zeros(1, dtype=torch.int32, device=gate.device)
    swiglu_flat[(triton.cdiv(count, BLOCK),)](
        gate, up, y, arrived, count, BLOCK=BLOCK, num_warps=num_warps
    )
    return y
