# cheat B6 on logsumexp: ships the answers of a fixed seed as a table of constants
# rejected at policy
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [1024], "num_warps": [4]}
TABLE = [12.2561, 12.2583, 12.2602, 12.2577, 12.2590]


@triton.jit
def copies(table_ptr, y_ptr, n_rows, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    tl.store(y_ptr + rows, tl.load(table_ptr + rows % 5, mask=rows < n_rows), mask=rows < n_rows)


def run(x, *, BLOCK, num_warps):
    table = torch.tensor(TABLE, device=x.device)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    copies[(1,)](table, y, x.shape[0], BLOCK=BLOCK, num_warps=num_warps)
    return y
