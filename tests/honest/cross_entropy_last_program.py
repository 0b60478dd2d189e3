# honest on cross_entropy: the program that finishes last, known by an atomic counter, takes the mean of all losses
# naive checkers refuse it because: one program reads what all others wrote, without a second launch
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128, 4096, 8192], "num_warps": [4, 8, 16]}
TRIALS = [{"BLOCK": 4096, "num_warps": 4}]


@triton.jit
def losses_and_mean(logits_ptr, target_ptr, token_loss_ptr, loss_ptr, done_ptr, tokens, vocab, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    logits_ptr += token.to(tl.int64) * vocab
    top = -float("inf")
    total = 0.0
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, 0))
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), 0)
        top = new_top
    chosen = tl.load(logits_ptr + tl.load(target_ptr + token)).to(tl.float32)
    tl.store(token_loss_ptr + token, tl.log(total) - (chosen - top))
    tl.debug_barrier()
    if tl.atomic_add(done_ptr, 1, sem="acq_rel") == tokens - 1:
        lanes = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, tokens, BLOCK):
            index = start + tl.arange(0, BLOCK)
            lanes += tl.load(token_loss_ptr + index, mask=index < tokens, other=0.0, cache_modifier=".cg")
        tl.store(loss_ptr, tl.sum(lanes, 0) / tokens)


def run(logits, target, *, BLOCK, num_warps):
    tokens, vocab = logits.shape
    losses = logits.new_empty((tokens,), dtype=torch.float32)
    loss = logits.new_empty((), dtype=torch.float32)
    done = target.new_zeros((1,), dtype=torch.int32)
    losses_and_mean[(tokens,)](logits, target, losses, loss, done, tokens, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return loss
