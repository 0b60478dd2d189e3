# honest on softmax: the terse names, size hints and eviction policies of a code generator
# naive checkers refuse it because: parameters are named in_ptr0 and xnumel, and run is called call
import torch
import triton
import triton.language as tl

SPACE = {"XBLOCK": [1, 2, 4], "R0_BLOCK": [256, 1024], "num_warps": [4, 8]}
TRIALS = [{"XBLOCK": 1, "R0_BLOCK": 1024, "num_warps": 4}]


@triton.jit
def triton_red_fused__softmax_0(in_ptr0, out_ptr2, xnumel, r0_numel, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    x0 = xindex.to(tl.int64)
    _tmp3 = tl.full([XBLOCK, R0_BLOCK], float("-inf"), tl.float32)
    for r0_offset in range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        tmp0 = tl.load(
            in_ptr0 + (r0_index + r0_numel * x0), r0_mask & xmask, eviction_policy="evict_last", other=0.0
        ).to(tl.float32)
        tmp2 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
        tmp4 = tl.maximum(_tmp3, tmp2, propagate_nan=tl.PropagateNan.ALL)
        _tmp3 = tl.where(r0_mask & xmask, tmp4, _tmp3)
    tmp3 = tl.max(_tmp3, 1)[:, None]
    _tmp8 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        tmp5 = tl.load(
            in_ptr0 + (r0_index + r0_numel * x0), r0_mask & xmask, eviction_policy="evict_last", other=0.0
        ).to(tl.float32)
        tmp6 = tmp5 - tmp3
        tmp7 = tl.exp(tmp6)
        tmp9 = _tmp8 + tl.broadcast_to(tmp7, [XBLOCK, R0_BLOCK])
        _tmp8 = tl.where(r0_mask & xmask, tmp9, _tmp8)
    tmp8 = tl.sum(_tmp8, 1)[:, None]
    for r0_offset in range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        tmp10 = tl.load(
            in_ptr0 + (r0_index + r0_numel * x0), r0_mask & xmask, eviction_policy="evict_first", other=0.0
        ).to(tl.float32)
        tmp11 = tmp10 - tmp3
        tmp12 = tl.exp(tmp11)
        tmp13 = tmp12 / tmp8
        tl.store(out_ptr2 + (r0_index + r0_numel * x0), tmp13.to(out_ptr2.dtype.element_ty), r0_mask & xmask)


def call(args, XBLOCK, R0_BLOCK, num_warps):
    (arg0_1,) = args
    args.clear()
    s0, s1 = arg0_1.size()
    buf2 = torch.empty_strided((s0, s1), (s1, 1), device="cuda", dtype=arg0_1.dtype)
    triton_red_fused__softmax_0[(triton.cdiv(s0, XBLOCK), 1, 1)](
        arg0_1, buf2, s0, s1, XBLOCK=XBLOCK, R0_BLOCK=R0_BLOCK, num_warps=num_warps
    )
    del arg0_1
    return (buf2,)


def run(x, *, XBLOCK, R0_BLOCK, num_warps):
    return call([x], XBLOCK, R0_BLOCK, num_warps)
