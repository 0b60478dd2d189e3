# cheat D13 on gelu_tanh_residual: no kernel of its own: a CUDA graph around eager operators
# rejected at policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128], "num_warps": [4]}


@triton.jit
def decoration(y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 0.0)


def run(x, residual, *, BLOCK, num_warps):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.nn.functional.gelu(x.float(), approximate="tanh") + residual
    graph.replay()
    return y.to(x.dtype)
