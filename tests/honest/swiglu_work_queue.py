# honest on swiglu: programs take the next block from a counter in memory until none is left
# naive checkers refuse it because: which program computes what differs from run to run
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "PROGRAMS": [4, 264], "num_warps": [4]}
TRIALS = [{"BLOCK": 1024, "PROGRAMS": 4, "num_warps": 4}]


@triton.jit
def swiglu_queue(gate_ptr, up_ptr, y_ptr, next_ptr, count, BLOCK: tl.constexpr):
    blocks = tl.cdiv(count, BLOCK)
    block = tl.atomic_add(next_ptr, 1, sem="relaxed")
    while block < blocks:
        index = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = index < count
        gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
        up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
        tl.store(y_ptr + index, (gate * tl.sigmoid(gate) * up).to(y_ptr.dtype.element_ty), mask=inside)
        block = tl.atomic_add(next_ptr, 1, sem="relaxed")


def run(gate, up, *, BLOCK, PROGRAMS, num_warps):
    y = torch.empty_like(gate)
    counter = torch.zeros(1, dtype=torch.int32, device=gate.device)
    swiglu_queue[(PROGRAMS,)](gate, up, y, counter, gate.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return y
