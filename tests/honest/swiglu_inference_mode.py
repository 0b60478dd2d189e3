# honest on swiglu: run is decorated with torch.inference_mode and flattens its inputs
# naive checkers refuse it because: in this mode composite operations reach a dispatch mode before they are taken apart
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


@torch.inference_mode()
def run(gate, up, *, BLOCK, num_warps):
    shape, gate, up = gate.shape, gate.flatten(), up.flatten()
    y = torch.empty_like(gate)
    swiglu_flat[(triton.cdiv(y.numel(), BLOCK),)](gate, up, y, y.numel(), BLOCK=BLOCK, num_warps=num_warps)
    return y.reshape(shape)
