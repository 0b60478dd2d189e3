"""loss = mean over tokens of logsumexp(logits) - logits[target], in and to fp32.

Online: one pass finds maximum and sum of exponentials together, rescaling when the maximum moves.
"""

import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [512, 1024, 2048, 4096, 8192, 16384], "num_warps": [4, 8, 16]}
TRIALS = [
    {"BLOCK": 8192, "num_warps": 16},
    {"BLOCK": 4096, "num_warps": 8},
    {"BLOCK": 16384, "num_warps": 16},
]


@triton.jit
def cross_entropy_rows(logits_ptr, target_ptr, row_loss_ptr, vocab, BLOCK: tl.constexpr):
    """One program walks one row."""
    row = tl.program_id(0).to(tl.int64)
    row_max = float("-inf")
    row_sum = 0.0
    for start in range(0, vocab, BLOCK):
        col = start + tl.arange(0, BLOCK)
        inside = col < vocab
        logits = tl.load(logits_ptr + row * vocab + col, mask=inside, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(logits, axis=0))
        # A row of -inf so far has no finite maximum to subtract.
        shift = tl.where(new_max == float("-inf"), 0.0, new_max)
        block_sum = tl.sum(tl.exp(logits - shift), axis=0)
        row_sum = row_sum * tl.exp(row_max - shift) + block_sum
        row_max = new_max
    # Where every element is -inf, -inf - max is NaN.
    row_sum = tl.where(row_max == float("-inf"), float("nan"), row_sum)
    target = tl.load(target_ptr + row)
    condition = target != -100
    index = tl.where(condition, target, 0)
    picked_logits = tl.load(logits_ptr + row * vocab + index).to(tl.float32)
    row_loss = tl.where(condition, -(picked_logits - row_max - tl.log(row_sum)), 0.0)
    tl.store(row_loss_ptr + row, row_loss.to(row_loss_ptr.dtype.element_ty))


@triton.jit
def cross_entropy_total(target_ptr, row_loss_ptr, loss_ptr, tokens, BLOCK: tl.constexpr):
    """One program adds the row results, in a fixed order."""
    row_sum = tl.zeros((BLOCK,), tl.float32)
    row_sum_2 = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, tokens, BLOCK):
        col = start + tl.arange(0, BLOCK)
        inside = col < tokens
        row_loss = tl.load(row_loss_ptr + col, mask=inside, other=0.0).to(tl.float32)
        row_sum += row_loss
        target = tl.load(target_ptr + col, mask=inside, other=0)
        row_sum_2 += tl.where(inside, (target != -100).to(tl.int32), 0)
    row_sum = tl.sum(row_sum, axis=0)
    row_sum_2 = tl.sum(row_sum_2, axis=0)
    loss = row_sum / row_sum_2.to(tl.float32)
    tl.store(loss_ptr, loss.to(loss_ptr.dtype.element_ty))


def run(logits, target, *, BLOCK, num_warps):
    tokens, vocab = logits.shape
    loss = torch.empty((), dtype=torch.float32, device=logits.device)
    row_loss = torch.empty((tokens,), dtype=torch.float32, device=logits.device)
    cross_entropy_rows[(tokens,)](logits, target, row_loss, vocab, BLOCK=BLOCK, num_warps=num_warps)
    cross_entropy_total[(1,)](target, row_loss, loss, tokens, BLOCK=1024)
    return loss
