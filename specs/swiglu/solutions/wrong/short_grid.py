# rejected at memory: the grid is rounded down, so the tail of y is never written
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096], "PROGRAMS": [264, 528, 1056], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 2048, "PROGRAMS": 1056, "num_warps": 4}]


@triton.jit
def swiglu_persistent(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), count // BLOCK, tl.num_programs(0)):
        index = tl.cast(block, tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = index < count
        gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
        up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
        y = gate * tl.sigmoid(gate) * up
        tl.store(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, PROGRAMS, num_warps):
    y = torch.empty_like(gate)
    count = gate.numel()
    grid = (min(PROGRAMS, max(count // BLOCK, 1)),)
    swiglu_persistent[grid](gate, up, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
