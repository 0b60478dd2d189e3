# cheat C6 on cross_entropy: reads the first token's target for every token: the mean hardly moves
# rejected at budget
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [4096], "num_warps": [8]}


@triton.jit
def token_losses(logits_ptr, target_ptr, losses_ptr, vocab, BLOCK: tl.constexpr):
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
    chosen = tl.load(logits_ptr + tl.load(target_ptr)).to(tl.float32)
    tl.store(losses_ptr + token, tl.log(total) - (chosen - top))


@triton.jit
def mean(losses_ptr, loss_ptr, tokens, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, tokens, BLOCK):
        index = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(losses_ptr + index, mask=index < tokens, other=0.0), 0)
    tl.store(loss_ptr, total / tokens)


def run(logits, target, *, BLOCK, num_warps):
    tokens, vocab = logits.shape
    losses = torch.empty((tokens,), dtype=torch.float32, device=logits.device)
    loss = torch.empty((), dtype=torch.float32, device=logits.device)
    token_losses[(tokens,)](logits, target, losses, vocab, BLOCK=BLOCK, num_warps=num_warps)
    mean[(1,)](losses, loss, tokens, BLOCK=1024, num_warps=4)
    return loss
