# honest on swiglu: the output's dtype is torch.promote_types of the inputs'
# naive checkers refuse it because: it takes a question about dtypes for a computation
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024], "num_warps": [4]}
TRIALS = [{"BLOCK": 1024, "num_warps": 4}]


@triton.jit
def swiglu_flat(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
    tl.store(y_ptr + index, (gate * tl.sigmoid(gate) * up).to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, num_warps):
    y = torch.empty(gate.shape, dtype=torch.promote_types(gate.dtype, up.dtype), device=gate.device)
    swiglu_flat[(triton.cdiv(y.numel(), BLOCK),)](gate, up, y, y.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return y
