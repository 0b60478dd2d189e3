# honest on embedding_sum: addresses come from memory; a row of the table is found by an index that is loaded first
# naive checkers refuse it because: where it reads depends on the data
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [64, 256], "num_warps": [4]}
TRIALS = [{"BLOCK": 256, "num_warps": 4}]


@triton.jit
def gather_rows(id_ptr, table_ptr, position_ptr, y_ptr, hidden, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    entry = tl.load(id_ptr + token).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = cols < hidden
    y = tl.load(table_ptr + entry * hidden + cols, mask=inside)
    y += tl.load(position_ptr + token * hidden + cols, mask=inside)
    tl.store(y_ptr + token * hidden + cols, y, mask=inside)


def run(id, table, position, *, BLOCK, num_warps):
    (tokens,), hidden = id.shape, table.shape[1]
    y = torch.empty_like(position)
    gather_rows[(tokens, triton.cdiv(hidden, BLOCK))](
        id, table, position, y, hidden, BLOCK=BLOCK, num_warps=num_warps
    )
    return y
