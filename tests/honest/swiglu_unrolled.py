# honest on swiglu: tl.static_range unrolls several blocks a program, on a grid of three dimensions
# naive checkers refuse it because: the grid's shape is arbitrary and most of its programs may have nothing to do
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128, 512, 1024], "UNROLL": [2, 4], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 512, "UNROLL": 2, "num_warps": 4}]


@triton.jit
def swiglu_unrolled(gate_ptr, up_ptr, y_ptr, count, BLOCK: tl.constexpr, UNROLL: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    program = (z.to(tl.int64) * tl.num_programs(1) + y) * tl.num_programs(0) + x
    for part in tl.static_range(UNROLL):
        index = (program * UNROLL + part) * BLOCK + tl.arange(0, BLOCK)
        inside = index < count
        gate = tl.load(gate_ptr + index, mask=inside).to(tl.float32)
        up = tl.load(up_ptr + index, mask=inside).to(tl.float32)
        value = gate * tl.sigmoid(gate) * up
        tl.store(y_ptr + index, value.to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, UNROLL, num_warps):
    y = torch.empty_like(gate)
    count = gate.numel()
    programs = triton.cdiv(count, BLOCK * UNROLL)
    grid = (min(programs, 4096), min(2, triton.cdiv(programs, 4096)), triton.cdiv(programs, 8192))
    swiglu_unrolled[grid](gate, up, y, count, BLOCK=BLOCK, UNROLL=UNROLL, num_warps=num_warps)
    return y
