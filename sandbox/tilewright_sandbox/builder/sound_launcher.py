"""A launcher that every sound machine captures: tried where a candidate's capture died, to tell whose fault it is."""

from __future__ import annotations

from ..contract import Axis, Config, Spec, TensorInput, TensorOutput, Workload
from ..jobs import BuildJob, BuildRequest

_SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
"""


def sound_request(target: str) -> BuildRequest:
    """Capture of one launch on 512 elements, nothing compiled."""
    spec = Spec(
        name="double",
        summary="y = 2 x",
        op="double",
        axes={"n": Axis(min=1, max=512)},
        inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
        outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
        workloads=(Workload(role="tune", axes={"n": 512}),),
        reference_sha256="0" * 64,
    )
    job = BuildJob(config=Config({}), workload=spec.workloads[0], compile=False)
    return BuildRequest(source=_SOURCE, spec=spec, jobs=(job,), target=target)
