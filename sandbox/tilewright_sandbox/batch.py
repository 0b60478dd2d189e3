"""`python -m tilewright_sandbox.batch JOBS`: judge a folder of jobs. Needs torch, triton, cuda-core, pydantic."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .contract import Measured
from .job_files import Answer, judge_jobs
from .jobs import JudgeError, RaceReply
from .judge_process import JudgeProcess

ATTEMPTS = 3
POLL_S = 0.2


def line(name: str, answer: Answer) -> str:
    """One verdict on one line."""
    if isinstance(answer, JudgeError):
        return f"{name}  {answer.cause} error: {answer.message}"
    if isinstance(answer, RaceReply):
        ran = sorted(entry.median_us for entry in answer.entries if entry.median_us is not None)
        best = f"best {ran[0]:.1f} µs" if ran else "none ran"
        return f"{name}  raced {len(answer.entries)} plans in {answer.seconds:.1f} s  {best}"
    verdict = answer.verdict
    if isinstance(verdict, Measured):
        times = ", ".join(
            f"{t.workload.label}: {t.median_us:.1f} µs, {t.ratio[1]:.3f}× {t.strongest}"
            for t in verdict.times
            if t.kind == "measured"
        )
        return f"{name}  measured in {answer.seconds:.1f} s  {times}"
    return f"{name}  rejected at {verdict.stage} ({verdict.code}) in {answer.seconds:.1f} s: {verdict.message}"


def serve_jobs(jobs: Path, judge: JudgeProcess, *, watch: bool) -> Iterator[tuple[str, Answer]]:
    """Answers as they are given; with `watch`, for ever. A job that meets trouble of the machine is tried again, up to
    ATTEMPTS times in all, and is left in the folder then."""
    attempts: Counter[str] = Counter()
    while True:
        for name, answer in judge_jobs(jobs, judge, skip={name for name, n in attempts.items() if n >= ATTEMPTS}):
            attempts[name] += 1
            yield name, answer
        if not watch:
            return
        time.sleep(POLL_S)


def main(arguments: list[str] | None = None) -> int:
    """0 when every job has a verdict; 3 where a job could not be served."""
    parser = argparse.ArgumentParser(prog="python -m tilewright_sandbox.batch", description=__doc__)
    parser.add_argument("jobs", type=Path, help="folder of *.job.json")
    parser.add_argument("--watch", action="store_true", help="go on waiting for jobs until interrupted")
    given = parser.parse_args(arguments)
    if not given.jobs.is_dir():
        parser.error(f"{given.jobs} is no folder")
    failed = 0
    with JudgeProcess(on="device") as judge:
        for name, answer in serve_jobs(given.jobs, judge, watch=given.watch):
            failed += isinstance(answer, JudgeError)
            sys.stdout.write(line(name, answer) + "\n")
            sys.stdout.flush()
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
