# rejected at policy: the mean is left to PyTorch
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 4096, 8192], "num_warps": [4, 8, 16]}
TRIALS = [{"BLOCK": 4096, "num_warps": 8}]


@triton.jit
def token_losses(logits_ptr, target_ptr, token_loss_ptr, vocab, BLOCK: tl.constexpr):
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
    token_losses[(tokens,)](logits, target, losses, vocab, BLOCK=BLOCK, num_warps=num_warps)
    return losses.mean()
