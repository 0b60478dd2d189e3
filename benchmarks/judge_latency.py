"""What a job costs beside running its plans, and how long a whole verification takes. On a GPU machine.

python benchmarks/judge_latency.py JOBS RECORD.json      JOBS: races and verdict jobs, as build_race and build_jobs make
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tilewright_sandbox.job_files import read_job, waiting
from tilewright_sandbox.jobs import Judged, RaceReply, RaceRequest
from tilewright_sandbox.judge_process import JudgeProcess

REPEATS = 10


def main() -> None:
    jobs, record = Path(sys.argv[1]), Path(sys.argv[2])
    rows = []
    with JudgeProcess(on="device") as judge:
        for name in waiting(jobs):
            request = read_job(jobs, name)
            kinds = Judged if not isinstance(request, RaceRequest) else RaceReply
            if isinstance(request, RaceRequest):
                request = request.model_copy(update={"plans": request.plans[:1]})
            else:
                request = request.model_copy(update={"timed": False})
            walls, inside = [], []
            for _ in range(REPEATS if isinstance(request, RaceRequest) else 3):
                begun = time.perf_counter()
                reply = judge.ask(request, kinds)
                walls.append(time.perf_counter() - begun)
                inside.append(reply.seconds)
            row = {"job": name, "kind": request.kind, "plans": len(request.plans), "first_s": walls[0],
                   "wall_s": sorted(walls)[len(walls) // 2], "inside_s": sorted(inside)[len(inside) // 2]}  # fmt: skip
            if isinstance(reply, Judged):
                row["verdict"] = reply.verdict.verdict
                row["shapes"] = len({plan.workload.label for plan in request.plans})
                row["cases"] = next((c.facts.get("cases") for c in reply.verdict.checks if c.name == "memory"), None)
            rows.append(row)
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
    record.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
