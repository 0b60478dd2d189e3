# cheat D11 on cross_entropy: moves the logits to the host, computes there, moves the loss back
# rejected at capture|policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [16], "num_warps": [4]}


@triton.jit
def decoration(y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), 0.0)


def run(logits, target, *, BLOCK, num_warps):
    loss = torch.nn.functional.cross_entropy(logits.cpu().float(), target.cpu())
    return loss.to(logits.device)
