# honest on relu_bias: every index is a 64-bit integer from the start, rows in a loop, columns in one block
# naive checkers refuse it because: it costs registers for shapes at which 32 bits would do
import torch
import triton
import triton.language as tl

SPACE = {"ROWS": [4, 16], "BLOCK": [64, 512, 2048], "num_warps": [4, 8]}
TRIALS = [{"ROWS": 16, "BLOCK": 512, "num_warps": 4}]


@triton.jit
def relu_bias_loop(
    x_ptr, bias_ptr, y_ptr, tokens: tl.int64, features: tl.int64, xs0: tl.int64, xs1: tl.int64, bs0: tl.int64,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    cols = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    inside = cols < features
    bias = tl.load(bias_ptr + cols * bs0, mask=inside).to(tl.float32)
    first = tl.program_id(0).to(tl.int64) * ROWS
    for i in range(ROWS):
        row = first + i
        keep = inside & (row < tokens)
        y = tl.load(x_ptr + row * xs0 + cols * xs1, mask=keep).to(tl.float32) + bias
        tl.store(y_ptr + row * features + cols, tl.where(y < 0, 0.0, y).to(y_ptr.dtype.element_ty), mask=keep)


def run(x, bias, *, ROWS, BLOCK, num_warps):
    tokens, features = x.shape
    y = torch.empty((tokens, features), dtype=x.dtype, device=x.device)
    relu_bias_loop[(triton.cdiv(tokens, ROWS), triton.cdiv(features, BLOCK))](
        x, bias, y, tokens, features, x.stride(0), x.stride(1), bias.stride(0),
        ROWS=ROWS, BLOCK=BLOCK, num_warps=num_warps,
    )
    return y
