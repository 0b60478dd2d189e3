"""One read of the logits: a running maximum for the token and a sum per lane, rescaled when the maximum grows. A
second kernel takes the mean of the losses in a fixed order.
"""

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [2048, 4096, 8192], "num_warps": [4, 8, 16]}
TRIALS = [{"BLOCK": 8192, "num_warps": 16}]


@triton.jit
def token_losses_online(logits_ptr, target_ptr, token_loss_ptr, vocab, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    logits_ptr += token.to(tl.int64) * vocab
    top = -float("inf")
    lane_sum = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, 0))
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)  # only -inf so far: -inf - (-inf) would be NaN
        lane_sum = lane_sum * tl.exp(top - shift) + tl.exp(x - shift)
        top = new_top
    chosen = tl.load(logits_ptr + tl.load(target_ptr + token)).to(tl.float32)
    tl.store(token_loss_ptr + token, tl.log(tl.sum(lane_sum, 0)) - (chosen - top))


@triton.jit
def mean_of_losses(token_loss_ptr, loss_ptr, tokens, BLOCK: tl.constexpr):
    lanes = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, tokens, BLOCK):
        index = start + tl.arange(0, BLOCK)
        lanes += tl.load(token_loss_ptr + index, mask=index < tokens, other=0.0)
    tl.store(loss_ptr, tl.sum(lanes, 0) / tokens)


def run(logits, target, *, BLOCK, num_warps):
    tokens, vocab = logits.shape
    losses = torch.empty((tokens,), dtype=torch.float32, device=logits.device)
    loss = torch.empty((), dtype=torch.float32, device=logits.device)
    token_losses_online[(tokens,)](logits, target, losses, vocab, BLOCK=BLOCK, num_warps=num_warps)
    mean_of_losses[(1,)](losses, loss, tokens, BLOCK=1024, num_warps=4)
    return loss
