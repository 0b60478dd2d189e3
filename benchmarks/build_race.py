"""Build every candidate that the built-in proposer offers, in many configs, as races for a judge elsewhere.

    python benchmarks/build_race.py JOBS [--configs 20] SPEC …

Writes `candidates/<id>.py` beside the jobs, and `races.json`: which plan is which candidate, config and workload.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from pathlib import Path

from tilewright.judge import JudgeProcess
from tilewright.propose import ProposalContext
from tilewright.propose.templates import TemplateProposer
from tilewright.verify import open_builder, write_blobs
from tilewright_sandbox.boxes import client
from tilewright_sandbox.contract import Candidate, Config, Spec
from tilewright_sandbox.expressions import compile_where
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.job_files import write_job
from tilewright_sandbox.jobs import BuildJob, BuildRequest, Built, RaceRequest, TraceRequest
from tilewright_sandbox.spec import SpecFolder, find_spec, load_spec


def configs(spec: Spec, candidate: Candidate, most: int) -> list[Config]:
    """The candidate's own first guesses, then points of SPACE drawn at random; all feasible on every workload."""
    conditions = [compile_where(text) for text in candidate.where]
    workloads = spec.with_role("tune", "bench")

    def feasible(config: Config) -> bool:
        return all(where.holds(config, workload.axes) for where in conditions for workload in workloads)

    points = [Config(dict(zip(candidate.space, p, strict=True))) for p in itertools.product(*candidate.space.values())]
    random.Random(0).shuffle(points)
    chosen = {config.id: config for config in (*candidate.trials, *points) if feasible(config)}
    return list(chosen.values())[:most]


def build(folder: SpecFolder, candidate: Candidate, given: argparse.Namespace) -> list[dict[str, object]]:
    spec = folder.spec
    workloads = spec.with_role("bench") or spec.with_role("tune")
    jobs = tuple(
        BuildJob(config=config, workload=workload)
        for workload in workloads
        for config in configs(spec, candidate, given.configs)
    )
    request = BuildRequest(source=candidate.source, spec=spec, jobs=jobs, target=given.target, workers=given.workers)
    with open_builder("auto", True) as session:
        reply, blobs = client.build(session, request, timeout_s=60.0 * len(jobs) + 60)
    write_blobs(given.jobs / "blobs", blobs)
    plans = [
        outcome.plan
        for outcome in reply.outcomes
        if isinstance(outcome, Built) and max(k.resources.spill_bytes for k in outcome.plan.kernels) <= given.spill
    ]
    if not plans:
        return []
    race = RaceRequest(
        spec_path="", plans=tuple(plans), blobs_path=str(given.jobs / "blobs"), target=given.target, rounds=10
    )
    name = write_job(given.jobs, race, folder)
    return [
        {"job": name, "plan": plan.sha256, "spec": spec.name, "candidate": candidate.id, "title": candidate.title,
         "config": plan.config.root, "workload": plan.workload.label, "weight": plan.workload.weight}
        for plan in plans
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("specs", nargs="+")
    parser.add_argument("--configs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--spill", type=int, default=256, help="bytes of spills above which a plan is left out")
    parser.add_argument("--target", default="sm_90")
    given = parser.parse_args()
    (given.jobs / "candidates").mkdir(parents=True, exist_ok=True)
    index = given.jobs / "races.json"
    entries = json.loads(index.read_text()) if index.exists() else []
    with JudgeProcess() as judge:
        for name in given.specs:
            folder = load_spec(find_spec(name))
            graph = judge.ask(TraceRequest(spec_path=str(folder.path)), OpGraph)
            context = ProposalContext(spec=folder.spec, graph=graph, target=given.target)
            for candidate in TemplateProposer().propose(context):
                begun = time.monotonic()
                (given.jobs / "candidates" / f"{candidate.id}.py").write_text(candidate.source)
                made = build(folder, candidate, given)
                entries += made
                index.write_text(json.dumps(entries, indent=1))
                sys.stdout.write(f"{name}  {candidate.title}  {len(made)} plans  {time.monotonic() - begun:.1f} s\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
