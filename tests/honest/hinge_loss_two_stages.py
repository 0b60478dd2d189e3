# honest on hinge_loss: partial sums of a fixed number of programs, then one program for the mean
# naive checkers refuse it because: the workspace has one float for a program that may find no sample
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 4096], "PROGRAMS": [4, 264], "num_warps": [4, 8]}
TRIALS = [{"BLOCK": 1024, "PROGRAMS": 4, "num_warps": 4}]


@triton.jit
def partial_sums(score_ptr, margin_ptr, partial_ptr, samples, BLOCK: tl.constexpr):
    lanes = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, samples, tl.num_programs(0) * BLOCK):
        index = start + tl.arange(0, BLOCK)
        inside = index < samples
        score = tl.load(score_ptr + index, mask=inside, other=0.0)
        margin = tl.load(margin_ptr + index, mask=inside, other=0.0)
        loss = 1.0 - margin * score
        loss = tl.where(loss < 0.0, 0.0, loss)
        lanes += tl.where(inside, loss, 0.0)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(lanes, 0))


@triton.jit
def mean_of_partials(partial_ptr, loss_ptr, programs, samples, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(loss_ptr, tl.sum(tl.load(partial_ptr + index, mask=index < programs, other=0.0), 0) / samples)


def run(score, margin, *, BLOCK, PROGRAMS, num_warps):
    samples = score.shape[0]
    partial = score.new_empty((PROGRAMS,))
    loss = score.new_empty(())
    partial_sums[(PROGRAMS,)](score, margin, partial, samples, BLOCK=BLOCK, num_warps=num_warps)
    mean_of_partials[(1,)](
        partial, loss, PROGRAMS, samples, BLOCK=triton.next_power_of_2(PROGRAMS), num_warps=1
    )
    return loss
