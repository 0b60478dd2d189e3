"""Race: the best trials of a tuned candidate on the device, by the clock and no longer by the model."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence

from tilewright.verify import build_plans, open_builder
from tilewright_sandbox.boxes import Session, is_trusted
from tilewright_sandbox.contract import Config, Plan, Rejected
from tilewright_sandbox.jobs import BuildJob, Built, Outcome, Raced, RaceReply, RaceRequest

from . import events as ev
from .measured import timed_workloads
from .on_device import ask, expected_s, job_token
from .preparing import geometric_mean
from .search import Search
from .view import CandidateView

RACED = 8
"""Trials of a candidate that are raced at most."""


def race(search: Search, view: CandidateView) -> ev.Raced:
    """Run and time the best few configs of a tuned candidate. BudgetExhausted, SandboxUnavailable."""
    configs = best_trials(view)
    plans: list[Plan] = []
    refused: dict[str, ev.RacedPoint] = {}
    with contextlib.ExitStack() as stack:

        @functools.cache
        def session() -> Session:
            return stack.enter_context(open_builder(search.box, is_trusted(view.candidate.proposer)))

        for config in configs:
            built = _kept(search, view, config) or _build(search, view, config, session())
            if isinstance(built, Rejected):
                refused[config.id] = _failed(config, built.stage, built.code, built.message)
            else:
                plans += built
    entries, seconds = _run(search, view, plans)
    search.plans = {key: kept for key, kept in search.plans.items() if key[0] != view.id}
    points = tuple(refused.get(config.id) or _point(config, plans, entries) for config in configs)
    return ev.Raced(round=view.round, candidate_id=view.id, points=points, seconds=seconds)


def keep_for_race(search: Search, candidate_id: str, outcomes: Sequence[Outcome]) -> None:
    """What the tuner built is not built again for the race of this session."""
    for outcome in outcomes:
        if isinstance(outcome, Built):
            search.plans.setdefault((candidate_id, outcome.plan.config.id), []).append(outcome.plan)


def _kept(search: Search, view: CandidateView, config: Config) -> tuple[Plan, ...]:
    """Plans of every timed workload; empty where one is missing."""
    kept = {plan.workload.label: plan for plan in search.plans.get((view.id, config.id), ())}
    wanted = [workload.label for workload in timed_workloads(search.view.run.spec)]
    return tuple(kept[label] for label in wanted) if kept.keys() >= set(wanted) else ()


def _build(search: Search, view: CandidateView, config: Config, session: Session) -> tuple[Plan, ...] | Rejected:
    spec = search.view.run.spec
    jobs = tuple(BuildJob(config=config, workload=workload) for workload in timed_workloads(spec))
    return build_plans(session, spec, view.candidate, config, search.target.name, search.blobs_path, jobs)


def best_trials(view: CandidateView) -> list[Config]:
    """By modelled time, those that spill last; no two that run the same kernels."""
    timed = [trial for trial in view.trials if trial.value_us is not None and trial.state == "built"]
    timed.sort(key=lambda trial: (bool(trial.resources.get("spill_bytes")), trial.value_us, trial.number))
    configs = [trial.config for trial in timed[:RACED]]
    assert view.built is not None
    return configs or [view.tuned.config if view.tuned else view.built.config]


def _run(search: Search, view: CandidateView, plans: Sequence[Plan]) -> tuple[dict[str, Raced], float]:
    """An entry a plan that ran, and the device's seconds. A fault that ends the race costs its plan alone: the others
    are raced again, without the config that failed."""
    entries: dict[str, Raced] = {}
    seconds = 0.0
    left = sorted(plans, key=lambda plan: plan.workload.label)  # plans of one workload share their inputs
    for attempt in range(len(plans)):
        if not left:
            break
        search.step(f"racing {view.candidate.title or view.id[:8]}: {len(left)} plans")
        request = RaceRequest(
            spec_path=str(search.spec_folder.path.resolve()), plans=tuple(left), blobs_path=str(search.blobs_path),
            target=search.target.name,
        )  # fmt: skip
        token = job_token(search, f"race-{view.id}-{attempt}")
        with search.budget.spending("tune", gpu_s=expected_s(search, "race"), token=token) as spend:
            reply = ask(search, request, RaceReply, "race", spend)
        seconds += reply.seconds
        entries |= {entry.plan_sha256: entry for entry in reply.entries}
        if not reply.entries:
            break
        failed = {p.config.id for p in left if p.sha256 in entries and entries[p.sha256].median_us is None}
        left = [plan for plan in left if plan.sha256 not in entries and plan.config.id not in failed]
    return entries, seconds


def _point(config: Config, plans: Sequence[Plan], entries: dict[str, Raced]) -> ev.RacedPoint:
    ours = [plan for plan in plans if plan.config == config]
    found = [(plan, entries.get(plan.sha256)) for plan in ours]
    for plan, entry in found:
        if entry is not None and entry.median_us is None:
            return _failed(config, entry.stage, entry.code, f"{entry.message} Seen at {plan.workload.label}.")
    times = {p.workload.label: e.median_us for p, e in found if e is not None and e.median_us is not None}
    if len(times) < len(ours):
        return _failed(config, "launch", "not_run", "The race ended before this config ran.")
    mean_us = geometric_mean([(times[plan.workload.label], plan.workload.weight) for plan in ours])
    return ev.RacedPoint(config=config, value_us=mean_us, workloads_us=times)


def _failed(config: Config, stage: str, code: str, message: str) -> ev.RacedPoint:
    return ev.RacedPoint(config=config, value_us=None, stage=stage, code=code, message=message)
