"""Build and judge: compile each candidate with its first config, then screen it for equivalence."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tilewright.verify import build_plans, default_config, open_builder, wanted_jobs
from tilewright_sandbox.boxes import is_trusted
from tilewright_sandbox.contract import Candidate, Config, ModelledTime, Plan, Rejected
from tilewright_sandbox.jobs import BuildJob, Judged, JudgeRequest
from tilewright_sandbox.modelled import modelled_time

from . import events as ev
from .on_device import screen_on_device
from .preparing import geometric_mean
from .search import Search
from .state import State
from .view import CandidateView


def times_of(search: Search, plans: Sequence[Plan]) -> tuple[tuple[ModelledTime, ...], float]:
    """Modelled times of tune and bench workloads, and their weighted geometric mean in µs."""
    spec, graph = search.view.run.spec, search.view.graph
    named = [plan for plan in plans if plan.workload.role in ("tune", "bench")]
    times = tuple(modelled_time(spec, plan, search.target, graph) for plan in named)
    return times, geometric_mean([(time_.modelled_us, time_.workload.weight) for time_ in times])


def build(search: Search, state: State) -> State:
    number = state["round"]
    for candidate in search.view.in_round(number):
        if candidate.built or candidate.verdicts:
            continue
        search.step(f"building {label(candidate)}")
        with search.budget.spending("build"):
            event = _build_first(search, candidate)
        search.record(event)
    return state


def _build_first(search: Search, view: CandidateView) -> ev.Built | ev.JudgedEvent:
    spec, candidate, begun = search.view.run.spec, view.candidate, time.monotonic()
    config = default_config(spec, candidate)
    if config is None:
        plans: tuple[Plan, ...] | Rejected = Rejected(
            candidate_id=candidate.id,
            stage="source",
            code="no_feasible_config",
            message="No point of SPACE satisfies WHERE on every tune and bench workload. Widen SPACE.",
        )
    else:
        jobs = first_jobs(search, candidate, config)
        with open_builder(search.box, is_trusted(candidate.proposer)) as session:
            plans = build_plans(session, spec, candidate, config, search.target.name, search.blobs_path, jobs)
    seconds = time.monotonic() - begun
    if isinstance(plans, Rejected) or config is None:
        assert isinstance(plans, Rejected)
        return ev.JudgedEvent(
            round=view.round, candidate_id=candidate.id, config=config, depth="build", verdict=plans, seconds=seconds
        )
    times, modelled_us = times_of(search, plans)
    return ev.Built(
        round=view.round,
        candidate_id=candidate.id,
        config=config,
        plans=tuple(plan.sha256 for plan in plans),
        times=times,
        modelled_us=modelled_us,
        seconds=seconds,
    )


def judge(search: Search, state: State) -> State:
    """Screen what was built, best modelled time first."""
    built = [c for c in search.view.in_round(state["round"]) if c.built and not c.verdicts]
    for candidate in sorted(built, key=by_modelled_time):
        search.step(f"screening {label(candidate)}")
        if search.on_device:
            screen_on_device(search, candidate, screen_request(search, candidate))
            continue
        with search.budget.spending("judge"):
            event = _screen(search, candidate)
        search.record(event)
    return state


def _screen(search: Search, view: CandidateView) -> ev.JudgedEvent:
    begun = time.monotonic()
    reply = search.judge.ask(screen_request(search, view), Judged)
    assert view.built is not None
    return ev.JudgedEvent(
        round=view.round,
        candidate_id=view.id,
        config=view.built.config,
        depth="screen",
        verdict=reply.verdict.model_copy(update={"box": search.box_label}),
        seconds=time.monotonic() - begun,
    )


def screen_request(search: Search, view: CandidateView) -> JudgeRequest:
    """Of what was built first: nothing is built again."""
    assert view.built is not None
    return JudgeRequest(
        spec_path=str(search.spec_folder.path),
        source=view.candidate.source,
        proposer=view.candidate.proposer,
        config=view.built.config,
        plans=stored_plans(search, view),
        blobs_path=str(search.blobs_path),
        target=search.target.name,
        box=search.box,
        depth="screen",
    )


def first_jobs(search: Search, candidate: Candidate, config: Config) -> tuple[BuildJob, ...]:
    """What is built first: for a device all that a screen runs, else every tune and bench workload."""
    spec = search.view.run.spec
    screened = wanted_jobs(spec, candidate, config, "", "screen") if search.on_device else ()
    return screened or tuple(BuildJob(config=config, workload=w) for w in spec.with_role("tune", "bench"))


def stored_plans(search: Search, view: CandidateView) -> tuple[Plan, ...]:
    """Those of the first build. A stored record has its keys sorted; a judge looks for workloads by their labels, so
    axes and inputs get the order of the spec again."""
    assert view.built is not None
    inputs = [tensor.name for tensor in search.view.run.spec.tensor_inputs]
    plans = []
    for sha256, job in zip(
        view.built.plans, first_jobs(search, view.candidate, view.built.config), strict=True
    ):  # fmt: skip
        plan = Plan.model_validate_json((search.blobs_path / sha256).read_bytes())
        assert plan.workload == job.workload
        dtypes = {name: plan.dtypes[name] for name in inputs}
        plans.append(plan.model_copy(update={"workload": job.workload, "dtypes": dtypes}))
    return tuple(plans)


def best_point(view: CandidateView) -> tuple[Config, float]:
    """The config to go on with, and its time in µs: measured where the candidate was raced, modelled where not.

    ValueError where no config of a raced candidate ran.
    """
    if view.raced:
        if not view.raced_points:
            raise ValueError(f"no config of {view.id} ran")
        point = view.raced_points[0]
        assert point.value_us is not None
        return point.config, point.value_us
    if view.tuned:
        return view.tuned.config, view.tuned.value_us
    assert view.built is not None
    return view.built.config, view.built.modelled_us


def by_modelled_time(view: CandidateView) -> tuple[float, str]:
    """Order of candidates: modelled time, then id, so that every run with the same seed has the same order."""
    assert view.built is not None
    return (view.tuned.value_us if view.tuned else view.built.modelled_us), view.id


def by_raced_time(view: CandidateView) -> tuple[float, str]:
    """Order of candidates that a device has timed."""
    return best_point(view)[1], view.id


def label(view: CandidateView) -> str:
    return f"{view.candidate.title or 'candidate'} ({view.id[:8]})"
