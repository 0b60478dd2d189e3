# cheat M6 on cross_entropy: adds the new losses to a buffer that the last call is supposed to have left at zero
# rejected at memory
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def token_losses(logits_ptr, target_ptr, loss_ptr, tokens, vocab, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    logits_ptr += token.to(tl.int64) * vocab
    top = -float("inf")
    total = 0.0
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), 0)
        top = new_top
    chosen = tl.load(logits_ptr + tl.load(target_ptr + token)).to(tl.float32)
    tl.atomic_add(loss_ptr, (tl.log(total) - (chosen - top)) / tokens)


def run(logits, target, *, BLOCK, num_warps):
    tokens, vocab = logits.shape
    loss = torch.empty((), dtype=torch.float32, device=logits.device)
    token_losses[(tokens,)](logits, target, loss, tokens, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return loss
