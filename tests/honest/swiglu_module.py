# honest on swiglu: a torch.nn.Module made when the file is loaded, called in run
# naive checkers refuse it because: an object that lives from call to call could keep results
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [256, 1024, 4096], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 1024, "num_warps": 4}]


@triton.jit
def _swiglu(GATE, UP, OUT, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(GATE + offs, mask=offs < n, other=0.0).to(tl.float32)
    u = tl.load(UP + offs, mask=offs < n, other=0.0).to(tl.float32)
    tl.store(OUT + offs, (g * tl.sigmoid(g) * u).to(OUT.dtype.element_ty), mask=offs < n)


class SwiGLU(torch.nn.Module):
    def forward(self, gate, up, **options):
        out = torch.empty_like(gate)
        _swiglu[(triton.cdiv(gate.numel(), options["BLOCK"]),)](gate, up, out, gate.numel(), **options)
        return out


swiglu = SwiGLU()


def run(gate, up, *, BLOCK, num_warps):
    return swiglu(gate, up, BLOCK=BLOCK, num_warps=num_warps)
