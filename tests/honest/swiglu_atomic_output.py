# honest on swiglu: each element is added once, atomically and in the output's dtype, to an output that was zeroed
# naive checkers refuse it because: half-precision atomics lose digits where there is more than one addition
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "num_warps": [4]}
TRIALS = [{"BLOCK": 1024, "num_warps": 4}]


@triton.jit
def swiglu_add(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    tl.atomic_add(y_ptr + index, y.to(y_ptr.dtype.element_ty), mask=inside, sem="relaxed")


def run(gate, up, *, BLOCK, num_warps):
    y = torch.zeros_like(gate)
    swiglu_add[(triton.cdiv(gate.numel(), BLOCK),)](gate, up, y, gate.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return y
