# honest on cumsum: one launch; each chunk waits for the running total of the one before it, handed on with atomics
# naive checkers refuse it because: programs spin on a flag, and memory carries values from one program to the next
import torch
import triton
import triton.language as tl

SPACE = {"CHUNK": [64, 1024, 4096], "num_warps": [4, 8]}
TRIALS = [{"CHUNK": 1024, "num_warps": 4}]


@triton.jit
def cumsum_chained(x_ptr, y_ptr, total_ptr, ready_ptr, ticket_ptr, n_cols, CHUNK: tl.constexpr):
    chunks = tl.cdiv(n_cols, CHUNK)
    # Tickets give chunks in the order in which programs start, so the one that is waited for is always running.
    ticket = tl.atomic_add(ticket_ptr, 1)
    row, chunk = (ticket // chunks).to(tl.int64), ticket % chunks
    cols = chunk * CHUNK + tl.arange(0, CHUNK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=0.0)
    before = 0.0
    if chunk > 0:
        while tl.atomic_add(ready_ptr + ticket - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(total_ptr + ticket - 1, cache_modifier=".cg")
    tl.store(total_ptr + ticket, before + tl.sum(x, 0))
    tl.debug_barrier()
    tl.atomic_xchg(ready_ptr + ticket, 1, sem="release")
    tl.store(y_ptr + row * n_cols + cols, before + tl.cumsum(x, 0), mask=inside)


def run(x, *, CHUNK, num_warps):
    n_rows, n_cols = x.shape
    programs = n_rows * triton.cdiv(n_cols, CHUNK)
    y = torch.empty_like(x)
    totals = torch.empty(programs, dtype=torch.float32, device=x.device)
    flags = torch.zeros(programs + 1, dtype=torch.int32, device=x.device)
    cumsum_chained[(programs,)](x, y, totals, flags[1:], flags, n_cols, CHUNK=CHUNK, num_warps=num_warps)
    return y
