"""Tune: search the SPACE of the round's best candidates; every trial is in the journal and none is built twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tilewright.tune import Build, TrialRecord, tune
from tilewright.verify import COMPILE_TIMEOUT_S, write_blobs
from tilewright_sandbox.boxes import choose, client, is_trusted
from tilewright_sandbox.contract import Candidate, Spec
from tilewright_sandbox.jobs import BuildJob, BuildRequest, NotBuilt, Outcome

from . import events as ev
from .comparing import screened
from .making import best_point, label
from .racing import keep_for_race, race
from .search import Search
from .state import State
from .view import CandidateView

WORKER_GONE = frozenset({"timeout", "out_of_memory", "crashed", "oversize", "malformed_reply"})
"""Codes after which a session may have ended."""

STUDY = "study.jsonl"
FINALISTS = 3
"""Candidates of a round that are tuned."""


@contextmanager
def open_tuner(spec: Spec, candidate: Candidate, box: str, target: str, blobs_path: Path) -> Iterator[Build]:
    """A builder of this candidate's points; a worker that a point brought down is replaced before the next batch."""
    trusted = is_trusted(candidate.proposer)
    session = choose(box, trusted=trusted).start("build")

    def build(jobs: Sequence[BuildJob]) -> Sequence[Outcome]:
        nonlocal session
        request = BuildRequest(
            source=candidate.source,
            spec=spec,
            jobs=tuple(jobs),
            target=target,
            compile_timeout_s=COMPILE_TIMEOUT_S,
        )
        reply, blobs = client.build(session, request, timeout_s=len(jobs) * COMPILE_TIMEOUT_S + 30)
        write_blobs(blobs_path, blobs)
        if any(isinstance(o, NotBuilt) and o.rejected.code in WORKER_GONE for o in reply.outcomes):
            session.close()
            session = choose(box, trusted=trusted).start("build")
        return reply.outcomes

    try:
        yield build
    finally:
        session.close()


def tune_best(search: Search, state: State) -> State:
    """Tune the best few that passed the screen, by the model, and race what it likes best where there is a device.

    Trials that the journal holds are handed back, not built.
    """
    for candidate in screened(search.view.in_round(state["round"]))[:FINALISTS]:
        if not candidate.tuned:
            search.step(f"tuning {label(candidate)}")
            with search.budget.spending("tune"):
                search.record(_tune(search, candidate))
        if search.on_device and not candidate.raced:
            search.record(race(search, candidate))
    return state


def _tune(search: Search, view: CandidateView) -> ev.Tuned:
    run, candidate = search.view.run, view.candidate
    earlier = [as_record(event) for event in view.trials]

    def on_trial(trial: TrialRecord) -> None:
        search.record(ev.TrialEvent(round=view.round, candidate_id=candidate.id, **dict(trial)))

    with open_tuner(run.spec, candidate, search.box, run.target, search.blobs_path) as build:

        def build_batch(jobs: Sequence[BuildJob]) -> Sequence[Outcome]:
            search.step(f"tuning {label(view)}, {len(view.trials)} trials so far")
            outcomes = build(jobs)
            if search.on_device:
                keep_for_race(search, candidate.id, outcomes)
            return outcomes

        result = tune(
            candidate,
            run.spec,
            search.target,
            build_batch,
            trials=run.options["trials"],
            seed=run.seed,
            wall_s=tuning_wall_s(search),
            study_path=search.path / STUDY,
            on_trial=on_trial,
            earlier=earlier,
            graph=search.view.graph,
        )
    config, value_us = result.best, result.value_us
    if config is None or value_us is None:  # time ran out before the first trial: what was built already stands
        config, value_us = best_point(view)
    return ev.Tuned(
        round=view.round,
        candidate_id=candidate.id,
        config=config,
        value_us=value_us,
        trials=len(result.trials),
        importance=result.importance,
        seconds=result.seconds,
    )


def as_record(event: ev.TrialEvent) -> TrialRecord:
    return TrialRecord.model_validate(event.model_dump(include=set(TrialRecord.model_fields)))


def tuning_wall_s(search: Search) -> float | None:
    """What is left of the minutes, less what the winner's full judgement is expected to take."""
    left_s = search.budget.remaining_wall_s()
    if left_s is None:
        return None
    full_s = 3 * search.budget.longest_s.get("judge", 0.0) + search.budget.longest_s.get("build", 0.0)
    return max(0.0, left_s - full_s)
