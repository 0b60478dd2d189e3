# rejected at memory: the stride of bias is taken to be 1, so the gaps of a strided one are read
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [1, 2, 4, 8], "COLS": [256, 512, 1024, 2048], "num_warps": [4, 8]}
WHERE = ["ROWS * COLS <= 8192"]
TRIALS = [{"ROWS": 4, "COLS": 1024, "num_warps": 8}, {"ROWS": 1, "COLS": 2048, "num_warps": 4}]


@triton.jit
def relu_bias_tiles(
    x_ptr, bias_ptr, y_ptr, tokens, features, stride_token, stride_feature,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    inside = (rows < tokens) & (cols < features)
    x = tl.load(x_ptr + rows * stride_token + cols * stride_feature, mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=cols < features).to(tl.float32)
    y = x + bias
    y = tl.where(y < 0, 0.0, y)  # a NaN is not below zero, so it stays
    tl.store(y_ptr + rows * features + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


def run(x, bias, *, ROWS, COLS, num_warps):
    tokens, features = x.shape
    y = torch.empty((tokens, features), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(tokens, ROWS), triton.cdiv(features, COLS))
    relu_bias_tiles[grid](
        x, bias, y, tokens, features, *x.stride(), ROWS=ROWS, COLS=COLS, num_warps=num_warps
    )
    return y
