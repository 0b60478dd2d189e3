"""A stand-in for the judge of a GPU machine: it watches a queue of jobs and answers what a script says. No kernel runs.

    python stand_in_for_a_gpu.py JOBS '{"ratio": [1.2, 1.3, 1.4]}' [--once]

It takes jobs as the real judge does, through `job_files`, and answers legal records made from the request. The times of
a race come from the hashes of its plans, so that every run of a test has the same. What it says is no evidence: it is
here to test who asks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from tilewright_sandbox.contract import Check, Measured, MeasuredTime, Plan, Rejected
from tilewright_sandbox.job_files import VERDICT, claim, read_job, waiting
from tilewright_sandbox.jobs import Judged, JudgeRequest, Raced, RaceReply, RaceRequest
from tilewright_sandbox.spec import load_spec
from tilewright_sandbox.whole_file import write_whole

SECONDS = 0.25
"""On the device, for every job."""


def raced_us(plan: Plan) -> float:
    """Between 100 and 200 µs."""
    return 100 + int(plan.sha256[:8], 16) % 1000 / 10


def race(request: RaceRequest, script: dict[str, Any]) -> RaceReply:
    """With `cut`, the plan of that number faults and ends the race."""
    entries = [Raced(plan_sha256=plan.sha256, median_us=raced_us(plan), worst_c=0.5) for plan in request.plans]
    cut = script.pop("cut", None)
    if cut is not None:
        fault = {"median_us": None, "stage": "launch", "code": "illegal_address", "message": "It read outside."}
        entries = [*entries[:cut], entries[cut].model_copy(update=fault)]
    return RaceReply(entries=tuple(entries), seconds=SECONDS, last=cut is not None)


def judge(request: JudgeRequest, script: dict[str, Any]) -> Judged:
    """`reject` so many full verdicts first; then `ratio` on every bench workload, and `roofline` as a share of it."""
    spec = load_spec(request.spec_path).spec
    candidate = hashlib.sha256(request.source.encode()).hexdigest()[:16]
    if request.depth == "full" and script.get("reject", 0):
        script["reject"] -= 1
        rejected = Rejected(
            candidate_id=candidate, stage="memory", code="wrote_outside", message="A canary changed.",
            config=request.config,
        )  # fmt: skip
        return Judged(verdict=rejected, seconds=SECONDS)
    ours = {p.workload.label: p for p in request.plans if p.workload.role == "bench"}
    low, mid, high = script.get("ratio", (1.2, 1.3, 1.4))
    times = tuple(
        MeasuredTime(
            workload=workload, median_us=raced_us(ours[workload.label]), p10_us=0.99 * raced_us(ours[workload.label]),
            p90_us=1.02 * raced_us(ours[workload.label]), samples=80, ratio=(low, mid, high), strongest="compile",
            baselines_us={"eager": 3 * raced_us(ours[workload.label]), "compile": mid * raced_us(ours[workload.label])},
            roofline_us=script.get("roofline", 0.5) * raced_us(ours[workload.label]), noise=(0.995, 1.0, 1.004),
            call_us=raced_us(ours[workload.label]) + 20,
        )
        for workload in spec.with_role("bench")
    )  # fmt: skip
    left = "screened only" if request.depth == "screen" else ""
    checks = tuple(
        Check(name=name, status="NOT_RUN" if left and name == "physics" else "PASS", reason=left)
        for name in ("structure", "memory", "budget", "physics")
    )
    seed = hashlib.sha256(request.shape_seed.encode()).digest()[:16]
    measured = Measured(
        candidate_id=candidate, config=request.config, evidence="device: stand-in for a GPU", target=request.target,
        device_uuid="GPU-stand-in", checks=checks, rung="within budget", times=times if request.timed else (),
        plans=tuple(plan.sha256 for plan in request.plans), box=request.box,
        seed_commitment=hashlib.sha256(seed).hexdigest(), seed=seed.hex(),
    )  # fmt: skip
    raw = tuple({"workload": time_.workload.model_dump(), "blocks": []} for time_ in measured.times)
    return Judged(verdict=measured, seconds=SECONDS, timing=raw)


def serve(jobs: Path, script: dict[str, Any], once: bool) -> None:
    while True:
        for name in waiting(jobs):
            with claim(jobs, name) as ours:
                if not ours:
                    continue
                request = read_job(jobs, name)
                reply = race(request, script) if isinstance(request, RaceRequest) else judge(request, script)
                write_whole(jobs / f"{name}{VERDICT}", reply.model_dump_json().encode(), replace=False)
        if once:
            return
        time.sleep(0.05)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("script", type=json.loads)
    parser.add_argument("--once", action="store_true")
    given = parser.parse_args()
    given.jobs.mkdir(parents=True, exist_ok=True)
    serve(given.jobs, given.script, given.once)
    sys.exit(0)
