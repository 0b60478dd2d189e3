# cheat D3 on batched_matmul: multiplies NumPy arrays, which torch does not dispatch
# rejected at capture|policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16], "num_warps": [4]}


@triton.jit
def touch(c_ptr, BLOCK: tl.constexpr):
    tl.store(c_ptr + tl.arange(0, BLOCK), 0.0)


def run(a, b, *, BLOCK, num_warps):
    return torch.as_tensor(a.float().numpy() @ b.float().numpy(), device=a.device)
