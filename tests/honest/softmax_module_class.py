# honest on softmax: a class with static methods and a cache-free forward, as operator collections write it
# naive checkers refuse it because: the launch is two calls away from run, and the class has a method named forward
import torch
import triton
import triton.language as tl

SPACE = {"num_stages": [1, 2]}
WHERE = ["cols <= 65536"]

MAX_FUSED_SIZE = 65536


def calculate_settings(n):
    BLOCK_SIZE = triton.next_power_of_2(n)
    if BLOCK_SIZE > MAX_FUSED_SIZE:
        raise RuntimeError(f"Cannot launch the kernel since n = {n} exceeds {MAX_FUSED_SIZE = }.")
    num_warps = 4
    if BLOCK_SIZE >= 8192:
        num_warps = 16
    elif BLOCK_SIZE >= 2048:
        num_warps = 8
    return BLOCK_SIZE, num_warps


@triton.jit
def _softmax_single_block_forward_kernel(
    Y_ptr, Y_row_stride, X_ptr, X_row_stride, n_cols, BLOCK_SIZE: tl.constexpr,
):
    row_id = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_SIZE)
    mask = offs < n_cols
    x = tl.load(X_ptr + row_id * X_row_stride + offs, mask=mask, other=-float("inf"), cache_modifier=".ca")
    x = x.to(tl.float32)
    m = tl.max(x, axis=0)
    e = tl.exp(x - m)
    d = tl.sum(e, axis=0)
    y = e / d
    tl.store(Y_ptr + row_id * Y_row_stride + offs, y.to(Y_ptr.dtype.element_ty), mask=mask, cache_modifier=".cs")


class SoftmaxOp:
    """Keeps no state: the name alone says what is launched."""

    @staticmethod
    def forward(x, num_stages):
        *batch, n_cols = x.shape
        x2d = x.contiguous().view(-1, n_cols)
        n_rows = x2d.shape[0]
        BLOCK_SIZE, num_warps = calculate_settings(n_cols)
        y2d = torch.empty_like(x2d)
        _softmax_single_block_forward_kernel[(n_rows,)](
            y2d, y2d.stride(0), x2d, x2d.stride(0), n_cols,
            BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps, num_stages=num_stages,
        )
        return y2d.view(*batch, n_cols)


def run(x, *, num_stages):
    return SoftmaxOp.forward(x, num_stages)
