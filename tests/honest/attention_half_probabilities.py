# honest on attention: probabilities are rounded to the dtype of v for the second product, as attention libraries do
# naive checkers refuse it because: an intermediate is rounded where the reference keeps float32
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK_M": [16, 64], "BLOCK_N": [32, 64], "num_warps": [4]}
TRIALS = [{"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4}]


@triton.jit
def attention_forward(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, n, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    head = tl.program_id(1).to(tl.int64) * n * HEAD_DIM
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    d = tl.arange(0, HEAD_DIM)[None, :]
    q = tl.load(q_ptr + head + rows * HEAD_DIM + d, mask=rows < n, other=0.0)
    top = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), tl.float32)
    for start in range(0, n, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)[:, None]
        k = tl.load(k_ptr + head + keys * HEAD_DIM + d, mask=keys < n, other=0.0)
        v = tl.load(v_ptr + head + keys * HEAD_DIM + d, mask=keys < n, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(start + tl.arange(0, BLOCK_N)[None, :] < n, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)
        p = tl.exp(s - shift[:, None])
        rescale = tl.exp(top - shift)
        total = total * rescale + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        top = new_top
    o = acc / total[:, None]
    tl.store(o_ptr + head + rows * HEAD_DIM + d, o.to(o_ptr.dtype.element_ty), mask=rows < n)


def run(q, k, v, *, BLOCK_M, BLOCK_N, num_warps):
    heads, n, d = q.shape
    o = torch.empty_like(q)
    attention_forward[(triton.cdiv(n, BLOCK_M), heads)](
        q, k, v, o, d**-0.5, n, HEAD_DIM=d, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=num_warps
    )
    return o
