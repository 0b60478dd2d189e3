"""Build candidates here for a judge elsewhere: plans of every shape that a verdict on a device needs, as job files.

python benchmarks/build_jobs.py JOBS [--untimed] [--screen] SPEC=CANDIDATE.py …
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tilewright.verify import prepare
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Config, Rejected
from tilewright_sandbox.job_files import write_job
from tilewright_sandbox.spec import find_spec, load_spec


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("pairs", nargs="+", metavar="SPEC=CANDIDATE")
    parser.add_argument("--untimed", action="store_true")
    parser.add_argument("--screen", action="store_true")
    parser.add_argument("--target", default="sm_90")
    given = parser.parse_args()
    for pair in given.pairs:
        spec, _, path = pair.partition("=")
        path, _, config = path.partition("@")
        folder = load_spec(find_spec(spec))
        candidate = parse_candidate(Path(path).read_text(), proposer="person", spec=folder.spec)
        begun = time.monotonic()
        if not isinstance(candidate, Rejected):
            candidate = prepare(
                folder, candidate, target=given.target, blobs_path=given.jobs / "blobs", on="device",
                config=Config(json.loads(config)) if config else None, timed=not given.untimed,
                depth="screen" if given.screen else "full",
            )  # fmt: skip
        if isinstance(candidate, Rejected):
            text = f"rejected at {candidate.stage} ({candidate.code}): {candidate.message}"
        else:
            text = f"{write_job(given.jobs, candidate, folder)} {len(candidate.plans)} plans"
        sys.stdout.write(f"{pair}  {text}  {time.monotonic() - begun:.1f} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
