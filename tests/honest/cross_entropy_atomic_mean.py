# honest on cross_entropy: tokens add their share of the mean to one float with atomics, in whatever order they finish
# naive checkers refuse it because: the last bits of the loss differ from run to run
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [128, 4096, 8192], "num_warps": [4, 8, 16]}
TRIALS = [{"BLOCK": 4096, "num_warps": 4}]


@triton.jit
def add_token_loss(logits_ptr, target_ptr, loss_ptr, tokens, vocab, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    logits_ptr += token.to(tl.int64) * vocab
    lane_top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
        lane_top = tl.maximum(lane_top, x)
    top = tl.max(lane_top, 0)
    lane_sum = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocab, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < vocab, other=-float("inf")).to(tl.float32)
        lane_sum += tl.exp(x - top)
    chosen = tl.load(logits_ptr + tl.load(target_ptr + token)).to(tl.float32)
    tl.atomic_add(loss_ptr, (tl.log(tl.sum(lane_sum, 0)) - (chosen - top)) / tokens, sem="relaxed")


def run(logits, target, *, BLOCK, num_warps):
    tokens, vocab = logits.shape
    loss = torch.zeros((), dtype=torch.float32, device=logits.device)
    add_token_loss[(tokens,)](logits, target, loss, tokens, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return loss
