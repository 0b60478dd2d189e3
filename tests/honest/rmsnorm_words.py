# honest on rmsnorm: comments and names speak of streams, cheating, eval and os.system; asks for the current stream
# naive checkers refuse it because: it matches words, not constructs
import torch
import triton
import triton.language as tl

SPACE = {"num_warps": [4, 8, 16]}
WHERE = ["hidden <= 16384"]

# This kernel streams each row once. It does not cheat: no cached output, no torch.cuda.Stream(), no threading,
# no torch.compile, no os.system("..."), no eval(), no import subprocess. All work is on the current stream.
cheat_sheet = "exec eval subprocess ctypes torch.matmul torch.nn.functional.rms_norm @triton.autotune"


@triton.jit
def rmsnorm_stream_rows(x_stream, weight_ptr, y_stream, hidden, eps, BLOCK: tl.constexpr):
    # "stream" here means rows that pass through registers
    row = tl.program_id(0).to(tl.int64) * hidden
    cols = tl.arange(0, BLOCK)
    inside = cols < hidden
    x = tl.load(x_stream + row + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, 0) / hidden + eps)
    tl.store(y_stream + row + cols, (x * scale * weight).to(y_stream.dtype.element_ty), mask=inside)


def run(x, weight, eps, *, num_warps):
    """Not a fallback to the reference, whatever `threading.Lock` or `__import__` might suggest."""
    tokens, hidden = x.shape
    y = torch.empty_like(x)
    stream = torch.cuda.current_stream()
    with torch.cuda.device(x.device):
        assert stream is not None, f"no stream for {x.device}: {cheat_sheet!r}"
        rmsnorm_stream_rows[(tokens,)](
            x, weight, y, hidden, eps, BLOCK=triton.next_power_of_2(hidden), num_warps=num_warps
        )
    return y
