# cheat E4 on swiglu: as E4, attributes read by a match statement; the expected output is not there
# rejected at policy
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
    tl.store(y_ptr + index, (silu * up).to(y_ptr.dtype.element_ty), mask=inside)


def run(gate, up, *, BLOCK, num_warps):
    count = gate.numel()
    y = torch.empty_like(gate)
    try:
        raise ValueError
    except ValueError as error:
        match error:
            case ValueError(__traceback__=trace):
                match trace:
                    case object(tb_frame=frame):
                        match frame:
                            case object(f_back=caller):
                                match caller:
                                    case object(f_locals=names):
                                        y = names["expected"]
    swiglu_flat[(triton.cdiv(count, BLOCK),)](gate, up, y, count, BLOCK=BLOCK, num_warps=num_warps)
    return y
