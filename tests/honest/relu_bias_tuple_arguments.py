# honest on relu_bias: strides and shape are passed to the kernel as tuples, an absent scale as None
# naive checkers refuse it because: its arguments are not pointers and numbers one by one
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [2, 4], "COLS": [128, 512], "num_warps": [4, 8]}
TRIALS = [{"ROWS": 4, "COLS": 512, "num_warps": 4}]


@triton.jit
def scale_bias_relu(
    x_ptr, scale_ptr, bias_ptr, y_ptr, shape, x_strides, bias_strides, y_strides,
    HAS_SCALE: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.program_id(1).to(tl.int64) * COLS + tl.arange(0, COLS)[None, :]
    inside = (rows < shape[0]) & (cols < shape[1])
    x = tl.load(x_ptr + rows * x_strides[0] + cols * x_strides[1], mask=inside).to(tl.float32)
    if HAS_SCALE:
        x *= tl.load(scale_ptr + cols, mask=cols < shape[1])
    y = x + tl.load(bias_ptr + cols * bias_strides[0], mask=cols < shape[1]).to(tl.float32)
    y = tl.where(y < 0, 0.0, y).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + rows * y_strides[0] + cols * y_strides[1], y, mask=inside)


def run(x, bias, *, ROWS, COLS, num_warps):
    scale = None
    y = torch.empty(x.size(), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(x.size(0), ROWS), triton.cdiv(x.size(1), COLS))
    scale_bias_relu[grid](
        x, scale, bias, y, tuple(x.shape), x.stride(), bias.stride(), y.stride(),
        HAS_SCALE=scale is not None, ROWS=ROWS, COLS=COLS, num_warps=num_warps,
    )
    return y
