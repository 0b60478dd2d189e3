"""How well the builder fills the cores: a softmax space of 24 configs, captured and compiled for sm_90 with no GPU.

    python benchmarks/compile_throughput.py [--workers 2]

Prints the time of each job and, for one worker and for `--workers`, the wall time and how much of workers × wall was
spent in jobs, and as CPU time (with forks and the disassembler). Run it on a quiet machine: the load average is printed
with the result.
"""

from __future__ import annotations

import argparse
import itertools
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tilewright_sandbox.builder.build import serve_build
from tilewright_sandbox.builder.warm import warm_capture, warm_compiler
from tilewright_sandbox.contract import Axis, Config, Spec, TensorInput, TensorOutput, Workload
from tilewright_sandbox.jobs import BuildJob, BuildReply, BuildRequest, Built

SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    at = row[:, None] * n + column[None, :]
    inside = (row[:, None] < rows) & (column[None, :] < n)
    x = tl.load(x_ptr + at, mask=inside, other=float("-inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(y_ptr + at, e / tl.sum(e, 1)[:, None], mask=inside)


def run(x, *, BLOCK, ROWS, num_warps):
    y = torch.empty_like(x)
    softmax[(triton.cdiv(x.shape[0], ROWS),)](x, y, *x.shape, ROWS=ROWS, BLOCK=BLOCK, num_warps=num_warps)
    return y
"""
SPACE = {"BLOCK": (1024, 2048), "ROWS": (1, 2, 4), "num_warps": (2, 4, 8, 16)}


def request(workers: int) -> BuildRequest:
    workload = Workload(role="bench", axes={"tokens": 16384, "hidden": 1000})
    spec = Spec(
        name="softmax",
        summary="softmax over rows",
        op="softmax",
        axes={"tokens": Axis(min=1, max=1 << 17), "hidden": Axis(min=1, max=2048)},
        inputs=(TensorInput(name="x", shape=("tokens", "hidden"), dtype="bfloat16"),),
        outputs=(TensorOutput(name="y", shape=("tokens", "hidden"), dtype="bfloat16"),),
        workloads=(workload,),
        reference_sha256="0" * 64,
    )
    configs = (dict(zip(SPACE, values, strict=True)) for values in itertools.product(*SPACE.values()))
    jobs = tuple(BuildJob(config=Config(dict(config)), workload=workload) for config in configs)
    return BuildRequest(source=SOURCE, spec=spec, jobs=jobs, target="sm_90", workers=workers)


def serve(workers: int) -> tuple[BuildReply, float]:
    """The reply, and the CPU seconds of this process and all its children while it was made."""
    before = sum(os.times()[:4])
    reply, _ = serve_build(request(workers))
    return reply, sum(os.times()[:4]) - before


def seconds_of(reply: BuildReply) -> list[float]:
    return [outcome.capture_s + outcome.compile_s for outcome in reply.outcomes if isinstance(outcome, Built)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    workers = parser.parse_args().workers
    warm_capture()
    warm_compiler()
    (alone, alone_cpu_s), (together, together_cpu_s) = serve(1), serve(workers)
    print(f"{'config':40}{'capture s':>10}{'compile s':>10}{'registers':>10}{'spill B':>8}")
    for outcome in together.outcomes:
        if isinstance(outcome, Built):
            used = outcome.plan.kernels[0].resources
            row = f"{outcome.plan.config!s:40}{outcome.capture_s:10.3f}{outcome.compile_s:10.3f}"
            print(f"{row}{used.registers:10}{used.spill_bytes:8}")
        else:
            print(f"{outcome.rejected.config!s:40}{outcome.rejected.code}")
    print(f"\nload average before the end: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    for count, reply, cpu_s in ((1, alone, alone_cpu_s), (workers, together, together_cpu_s)):
        total, room = sum(seconds_of(reply)), count * reply.wall_s
        print(
            f"{count} worker(s): wall {reply.wall_s:5.2f} s; {count} × wall holds {total / room:4.0%} in jobs ", end=""
        )
        print(f"({total:.2f} s), {cpu_s / room:4.0%} CPU time ({cpu_s:.2f} s)")
    print(f"speed-up {alone.wall_s / together.wall_s:.2f} of {workers}: {alone.wall_s / together.wall_s / workers:.0%}")


if __name__ == "__main__":
    main()
