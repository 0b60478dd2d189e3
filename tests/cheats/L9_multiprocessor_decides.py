# cheat L9 on swiglu: skips work on multiprocessors above 64
# rejected at launch|budget|memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def swiglu_flat(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
    silu = gate / (1.0 + tl.exp(-gate))
    sm = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r,r", [index.to(tl.int32)], tl.int32, False, 1)
    inside = inside & (sm < 64)
    tl.store(y_ptr + index, (silu * up).to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, num_warps):
    count = gate.numel()
    y = torch.empty_like(gate)
    swiglu_flat[(triton.cdiv(count, BLOCK),)](gate, up, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
