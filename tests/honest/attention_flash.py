# honest on attention: attention-library style; running maximum and sum over blocks of keys, log2(e) in the scale
# naive checkers refuse it because: the matrix of scores is never made, and exp2 takes the place of exp
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK_M": [16, 64], "BLOCK_N": [32, 64], "num_warps": [4], "num_stages": [2]}
TRIALS = [{"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2}]


@triton.jit
def _attn_fwd_inner(
    acc, l_i, m_i, q, K_ptr, V_ptr, qk_scale, N_CTX, offs_d, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr
):
    for start_n in range(0, N_CTX, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        k = tl.load(K_ptr + offs_n[None, :] * HEAD_DIM + offs_d[:, None], mask=offs_n[None, :] < N_CTX, other=0.0)
        qk = tl.dot(q, k, input_precision="ieee") * qk_scale
        qk = tl.where(offs_n[None, :] < N_CTX, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        m_use = tl.where(m_ij == float("-inf"), 0.0, m_ij)
        p = tl.math.exp2(qk - m_use[:, None])
        alpha = tl.math.exp2(m_i - m_use)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V_ptr + offs_n[:, None] * HEAD_DIM + offs_d[None, :], mask=offs_n[:, None] < N_CTX, other=0.0)
        acc = tl.dot(p, v.to(tl.float32), acc, input_precision="ieee")
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def _attn_fwd(
    Q, K, V, Out, sm_scale, N_CTX, stride_h, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    start_m = tl.program_id(0)
    off_h = tl.program_id(1).to(tl.int64) * stride_h
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    rows = offs_m[:, None] < N_CTX
    q = tl.load(Q + off_h + offs_m[:, None] * HEAD_DIM + offs_d[None, :], mask=rows, other=0.0)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    acc, l_i, m_i = _attn_fwd_inner(
        acc, l_i, m_i, q, K + off_h, V + off_h, sm_scale * 1.4426950408889634, N_CTX, offs_d, BLOCK_N, HEAD_DIM
    )
    acc = acc / l_i[:, None]
    tl.store(
        Out + off_h + offs_m[:, None] * HEAD_DIM + offs_d[None, :], acc.to(Out.dtype.element_ty), mask=rows
    )


class _attention:
    @staticmethod
    def forward(q, k, v, sm_scale, BLOCK_M, BLOCK_N, num_warps, num_stages):
        HEAD_DIM_Q, HEAD_DIM_K = q.shape[-1], k.shape[-1]
        HEAD_DIM_V = v.shape[-1]
        assert HEAD_DIM_Q == HEAD_DIM_K and HEAD_DIM_K == HEAD_DIM_V
        assert HEAD_DIM_K in {16, 32, 64, 128, 256}
        o = torch.empty_like(q)
        extra_kern_args = {}
        if torch.cuda.get_device_capability()[0] >= 9:
            extra_kern_args["maxnreg"] = 168
        grid = (triton.cdiv(q.shape[1], BLOCK_M), q.shape[0], 1)
        _attn_fwd[grid](
            q, k, v, o, sm_scale, q.shape[1], q.stride(0),
            HEAD_DIM=HEAD_DIM_K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
            num_warps=num_warps, num_stages=num_stages, **extra_kern_args,
        )
        return o


attention = _attention.forward


def run(q, k, v, *, BLOCK_M, BLOCK_N, num_warps, num_stages):
    return attention(q, k, v, q.shape[-1] ** -0.5, BLOCK_M, BLOCK_N, num_warps, num_stages)
