"""Build the corpora here for a judge elsewhere: jobs for what gets that far, and the rejections of what does not.

    python benchmarks/build_selftest.py JOBS [--only cheat|honest|mutant] [--workers 2]
    python benchmarks/build_selftest.py JOBS --score RECORD.json

Can be interrupted and run again: `index.jsonl` says what is done. `--score` reads the verdicts and writes the record.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tilewright.selftest import Outcome, Subject, build, known_id, outcome, rates, read_corpora
from tilewright_sandbox.contract import Rejected, SandboxUnavailable
from tilewright_sandbox.job_files import read_verdict, write_job
from tilewright_sandbox.jobs import Judged

ROOT = Path(__file__).parents[1]
_LOCK = threading.Lock()


def done(jobs: Path) -> dict[str, dict[str, str]]:
    path = jobs / "index.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def build_one(subject: Subject, jobs: Path, target: str, box: str) -> None:
    begun = time.monotonic()
    entry: dict[str, object] = {"key": f"{subject.id} {known_id(subject)}"}
    try:
        made = build(subject, target, jobs / "blobs", "device", box)
        if isinstance(made, Rejected):
            entry["rejected"] = made.model_dump(mode="json")
            said = f"{made.stage} {made.code}"
        else:
            entry["job"] = said = write_job(jobs, made, subject.folder)
    except SandboxUnavailable as error:
        said = f"machine: {error}"
        entry = {}
    except Exception as error:  # one subject must not end the others
        said = f"{type(error).__name__}: {error}"
        entry = {}
    with _LOCK, (jobs / "index.jsonl").open("a") as index:
        if entry:
            index.write(json.dumps(entry) + "\n")
        sys.stdout.write(f"{subject.id}  {said}  {time.monotonic() - begun:.1f} s\n")
        sys.stdout.flush()


def outcomes(jobs: Path, subjects: list[Subject]) -> Iterator[Outcome]:
    known = done(jobs)
    for subject in subjects:
        entry = known.get(f"{subject.id} {known_id(subject)}")
        if entry is None:
            yield outcome(subject, SandboxUnavailable("it was not built"))
        elif "rejected" in entry:
            yield outcome(subject, Rejected.model_validate(entry["rejected"]))
        else:
            answer = read_verdict(jobs, entry["job"])
            missing = SandboxUnavailable("no verdict" if answer is None else getattr(answer, "message", "?"))
            yield outcome(subject, answer.verdict if isinstance(answer, Judged) else missing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("--only", action="append")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--box", default="auto")
    parser.add_argument("--score", type=Path)
    given = parser.parse_args()
    given.jobs.mkdir(parents=True, exist_ok=True)
    subjects = read_corpora(ROOT / "tests", ROOT / "specs")
    subjects = [subject for subject in subjects if not given.only or subject.corpus in given.only]
    if given.score:
        found = list(outcomes(given.jobs, subjects))
        for rate in rates(found):
            sys.stdout.write(
                f"{rate.corpus}: {rate.right} of {rate.subjects} as they must be; rejected {rate.rejected}\n"
            )
        for one in found:
            if not one.right:
                sys.stdout.write(f"  {one.id}: {one.stage} {one.code} (expected {one.expected}) {one.message[:160]}\n")
        record = {"rates": [r.model_dump(mode="json") for r in rates(found)]}
        record["outcomes"] = [one.model_dump(mode="json", exclude={"message"}) for one in found]
        given.score.write_text(json.dumps(record, indent=1) + "\n")
        return
    known = done(given.jobs)
    with ThreadPoolExecutor(given.workers) as pool:
        for subject in subjects:
            if f"{subject.id} {known_id(subject)}" not in known:
                pool.submit(build_one, subject, given.jobs, given.target, given.box)


if __name__ == "__main__":
    main()
