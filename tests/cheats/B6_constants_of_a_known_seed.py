# cheat B6 on cross_entropy: the loss of a fixed seed is a constant in the kernel
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"LOSS": [12.2615], "num_warps": [4]}


@triton.jit
def constant_loss(loss_ptr, LOSS: tl.constexpr):
    tl.store(loss_ptr, LOSS)


def run(logits, target, *, LOSS, num_warps):
    loss = torch.empty((), dtype=torch.float32, device=logits.device)
    constant_loss[(1,)](loss, LOSS=LOSS, num_warps=num_warps)
    return loss
