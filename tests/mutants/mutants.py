"""Reads the mutants beside this file and has them judged.

A mutant is a right solution with one edit that changes its meaning. The edit names text that occurs exactly once in the
solution, so that a change of the solution is noticed and not silently edited around.

    python tests/mutants/mutants.py [SPEC…]     a verdict on each, as JSON lines; then a table
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from tilewright.judge import JudgeProcess
from tilewright.verify import default_config
from tilewright_sandbox.builder.build import serve_build
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Measured, Rejected
from tilewright_sandbox.jobs import BuildJob, BuildRequest, Built, Judged, JudgeRequest, NotBuilt
from tilewright_sandbox.spec import load_spec

HERE = Path(__file__).parent
SPECS = HERE.parents[1] / "specs"


@dataclass(frozen=True)
class Mutant:
    spec: str
    name: str
    of: str
    """Stem of the solution, below solutions/right."""
    old: str
    new: str
    why: str
    """The bug, in one line."""
    needs_device: str = ""
    """Why a judge without a device cannot see it. Empty: it must be rejected."""
    hole: str = ""
    """Why the judge misses it, though it should not. Empty: it does not."""

    @property
    def id(self) -> str:
        return f"{self.spec}/{self.name}"

    @property
    def seed(self) -> str:
        """Fixed for each: a large draw may show at one stage what the next draw shows only at a later one."""
        return hashlib.sha256(self.id.encode()).hexdigest()[:32]

    def source(self) -> str:
        """The mutated solution. ValueError where the text to be replaced is not there exactly once."""
        path = SPECS / self.spec / "solutions" / "right" / f"{self.of}.py"
        right = path.read_text()
        found = right.count(self.old)
        if found != 1:
            raise ValueError(f"{self.id}: {self.old!r} occurs {found} times in {path.name}: the solution was changed")
        return right.replace(self.old, self.new)


def read_mutants(specs: Iterable[str] = ()) -> list[Mutant]:
    """Of all specs, or of those. TypeError for a key that is not one of a mutant's."""
    wanted = set(specs)
    keys = {field.name for field in fields(Mutant)} - {"spec"}
    mutants = []
    for path in sorted(HERE.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["mutant"]:
            if unknown := entry.keys() - keys:
                raise TypeError(f"{path.name}, {entry.get('name')}: unknown {', '.join(sorted(unknown))}")
            if not wanted or path.stem in wanted:
                mutants.append(Mutant(spec=path.stem, **entry))
    return mutants


def start_judge() -> JudgeProcess:
    """`with start_judge() as judge`: the judge's service, whose sessions are forks (warm_judge.py)."""
    return JudgeProcess(command=("-I", str(HERE / "warm_judge.py")))


def judge_mutant(mutant: Mutant, judge: JudgeProcess) -> Rejected | Measured:
    """Capture its Plans and judge it in full; nothing is compiled, so `ir` is not run. Screening ends a verdict early
    where it decides: `depth="full"` costs no more than it must."""
    folder = load_spec(SPECS / mutant.spec)
    candidate = parse_candidate(mutant.source(), proposer="person", spec=folder.spec)
    if isinstance(candidate, Rejected):
        return candidate
    config = default_config(folder.spec, candidate)
    assert config is not None, mutant.id
    jobs = [BuildJob(config=config, workload=w, compile=False) for w in folder.spec.with_role("tune", "bench")]
    built, _ = serve_build(
        BuildRequest(source=candidate.source, spec=folder.spec, jobs=tuple(jobs), target="sm_90", workers=1)
    )
    for outcome in built.outcomes:
        if isinstance(outcome, NotBuilt):
            return outcome.rejected
    reply = judge.request(
        JudgeRequest(
            spec_path=str(folder.path), source=candidate.source, proposer=candidate.proposer, config=config,
            plans=tuple(outcome.plan for outcome in built.outcomes if isinstance(outcome, Built)),
            blobs_path=str(HERE), target="sm_90", box="process", seed=mutant.seed,
        )
    )  # fmt: skip
    assert isinstance(reply, Judged), reply
    return reply.verdict


def main(specs: list[str]) -> None:
    stages: dict[str, Counter[str]] = {}
    with start_judge() as judge:
        for mutant in read_mutants(specs):
            began = time.monotonic()
            verdict = judge_mutant(mutant, judge)
            record = {"mutant": mutant.id, "of": mutant.of, "seconds": round(time.monotonic() - began, 1)}
            if isinstance(verdict, Rejected):
                record |= {"stage": verdict.stage, "code": verdict.code, "message": verdict.message}
            else:
                record |= {"stage": "measured"} | {c.name: c.facts.get("worst_c", c.status) for c in verdict.checks}
            stages.setdefault(mutant.spec, Counter())[str(record["stage"])] += 1
            print(json.dumps(record, ensure_ascii=False), flush=True)
    for spec, counted in stages.items():
        print(f"{spec:20}", *(f"{stage} {count}" for stage, count in sorted(counted.items())), sep="  ")


if __name__ == "__main__":
    main(sys.argv[1:])
