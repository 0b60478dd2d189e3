# cheat D1 on layernorm: the kernel serves tiny inputs; everything else goes to F.layer_norm
# rejected at policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128], "num_warps": [4]}


@triton.jit
def bias_only(bias_ptr, y_ptr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    tl.store(y_ptr + cols, tl.load(bias_ptr + cols))


def run(x, weight, bias, eps, *, BLOCK, num_warps):
    if x.numel() > 1:
        return torch.nn.functional.layer_norm(x.float(), x.shape[1:], weight.float(), bias.float(), eps).to(x.dtype)
    y = torch.empty_like(x)
    bias_only[(1,)](bias, y, BLOCK=BLOCK, num_warps=num_warps)
    return y
