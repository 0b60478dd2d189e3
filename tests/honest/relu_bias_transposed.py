# honest on relu_bias: traverses column by column and gives an output whose columns are contiguous
# naive checkers refuse it because: the output's strides are not those of the input
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [32, 64, 256], "COLS": [1, 4], "num_warps": [4, 8]}
TRIALS = [{"ROWS": 64, "COLS": 4, "num_warps": 4}]


@triton.jit
def relu_bias_columns(
    x_ptr, bias_ptr, y_ptr, tokens, features, stride_xt, stride_xf, stride_b, stride_yt, stride_yf,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    blocks = tl.cdiv(tokens, ROWS)
    rows = (tl.program_id(0) % blocks).to(tl.int64) * ROWS + tl.arange(0, ROWS)[None, :]
    cols = (tl.program_id(0) // blocks).to(tl.int64) * COLS + tl.arange(0, COLS)[:, None]
    inside = (rows < tokens) & (cols < features)
    x = tl.load(x_ptr + rows * stride_xt + cols * stride_xf, mask=inside).to(tl.float32)
    y = x + tl.load(bias_ptr + cols * stride_b, mask=cols < features).to(tl.float32)
    y = tl.where(y < 0, 0.0, y)
    tl.store(y_ptr + rows * stride_yt + cols * stride_yf, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, bias, *, ROWS, COLS, num_warps):
    tokens, features = x.shape
    y = torch.empty_strided((tokens, features), (1, tokens), dtype=x.dtype, device=x.device)
    relu_bias_columns[(triton.cdiv(tokens, ROWS) * triton.cdiv(features, COLS),)](
        x, bias, y, tokens, features, *x.stride(), *bias.stride(), *y.stride(),
        ROWS=ROWS, COLS=COLS, num_warps=num_warps,
    )
    return y
