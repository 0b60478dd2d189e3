# honest on softmax: a torch.autograd.Function with forward and backward, applied by a function of the same file
# naive checkers refuse it because: autograd calls the launch, and a backward that is never called stands in the file
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8]}
WHERE = ["cols <= 16384"]


@triton.jit
def _softmax_fwd(X, Y, stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    offs = tl.arange(0, BLOCK_SIZE)
    x = tl.load(X + row + offs, mask=offs < n_cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + row + offs, (e / tl.sum(e, 0)).to(Y.dtype.element_ty), mask=offs < n_cols)


@triton.jit
def _softmax_bwd(DY, Y, DX, stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    offs = tl.arange(0, BLOCK_SIZE)
    y = tl.load(Y + row + offs, mask=offs < n_cols, other=0.0).to(tl.float32)
    dy = tl.load(DY + row + offs, mask=offs < n_cols, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, 0))
    tl.store(DX + row + offs, dx.to(DX.dtype.element_ty), mask=offs < n_cols)


class SoftmaxFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, num_warps: int) -> torch.Tensor:
        y = torch.empty_like(x)
        rows, cols = x.shape
        _softmax_fwd[(rows,)](x, y, x.stride(0), cols, BLOCK_SIZE=triton.next_power_of_2(cols), num_warps=num_warps)
        ctx.save_for_backward(y)
        ctx.num_warps = num_warps
        return y

    @staticmethod
    def backward(ctx, dy: torch.Tensor):
        (y,) = ctx.saved_tensors
        dx = torch.empty_like(y)
        rows, cols = y.shape
        _softmax_bwd[(rows,)](
            dy.contiguous(), y, dx, y.stride(0), cols,
            BLOCK_SIZE=triton.next_power_of_2(cols), num_warps=ctx.num_warps,
        )
        return dx, None


def run(x, *, num_warps):
    return SoftmaxFunction.apply(x, num_warps)
