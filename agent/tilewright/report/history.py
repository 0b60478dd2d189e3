"""How the run went: candidates, plots, decisions, and what is needed to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from tilewright.loop.events import TrialEvent
from tilewright.loop.view import CandidateView, RunView
from tilewright_sandbox.contract import Config
from tilewright_sandbox.targets import TARGETS

from . import words
from .data import CandidateRow, Decision, Pairs, Tone, Tuning
from .plots import Point, plot

SHOWN_TRIALS = 5


def point_of(view: RunView, candidate: CandidateView) -> tuple[Config | None, float | None]:
    """The config that a candidate went furthest with, and its modelled time in µs."""
    if view.best is candidate and view.best_compared:
        return view.best_compared.config, view.best_compared.modelled_us
    if candidate.tuned:
        return candidate.tuned.config, candidate.tuned.value_us
    if candidate.built:
        return candidate.built.config, candidate.built.modelled_us
    return (candidate.rejected.config if candidate.rejected else None), None


def candidate_rows(view: RunView) -> tuple[CandidateRow, ...]:
    """Every candidate in the order of proposal."""
    return tuple(
        _candidate_row(view, number, candidate) for number, candidate in enumerate(view.candidates.values(), 1)
    )


def _candidate_row(view: RunView, number: int, candidate: CandidateView) -> CandidateRow:
    rejected = candidate.rejected
    config, modelled_us = point_of(view, candidate)
    tone: Tone = "bad" if rejected else "good" if candidate.verified else "plain"
    return CandidateRow(
        number=number,
        round=candidate.round,
        id=candidate.id,
        title=candidate.candidate.title or "untitled",
        proposer=candidate.candidate.proposer,
        ended="winner" if view.best is candidate else candidate.state,
        tone=tone,
        code=rejected.code if rejected else "",
        reason=rejected.message if rejected else "",
        modelled=words.microseconds(modelled_us),
        raced=words.microseconds(candidate.raced_points[0].value_us if candidate.raced_points else None),
        config=str(config) if config else "",
    )


# -------------------------------------------------------------------------------------------------------- plots


def trajectory(view: RunView) -> Markup | None:
    """Modelled time of each candidate, and the best verified one so far. None where nothing was built.

    What was rejected is a cross: its time means nothing, and would set the scale.
    """
    points, best, lowest = [], [], None
    for number, candidate in enumerate(view.candidates.values(), 1):
        value_us = point_of(view, candidate)[1]
        if candidate.verified and value_us is not None:
            lowest = value_us if lowest is None else min(lowest, value_us)
        style = "bad" if candidate.rejected else "good" if candidate.verified else "plain"
        name = candidate.candidate.title or candidate.id
        label = f"{number}. {name}: {candidate.state}, {words.microseconds(value_us)} modelled"
        points.append(Point(None if candidate.rejected else value_us, style, label))
        best.append(lowest)
    if all(point.value_us is None for point in points):
        return None
    return plot(points, best, across="candidate", floor_us=view.preflight.roofline_us if view.preflight else None)


def tunings(view: RunView) -> tuple[Tuning, ...]:
    """The search of each tuned candidate, the winner's first."""
    tuned = [candidate for candidate in view.candidates.values() if candidate.tuned and candidate.trials]
    return tuple(_tuning(candidate) for candidate in sorted(tuned, key=lambda c: c is not view.best))


def _tuning(candidate: CandidateView) -> Tuning:
    assert candidate.tuned is not None
    points = [Point(t.value_us, _trial_style(t), _trial_label(t)) for t in candidate.trials]
    timed = sum(trial.value_us is not None for trial in candidate.trials)
    tried, took = words.count(len(candidate.trials), "trial"), words.duration(candidate.tuned.seconds)
    ranked = sorted((t for t in candidate.trials if t.value_us is not None), key=_merit)[:SHOWN_TRIALS]
    return Tuning(
        title=candidate.candidate.title or candidate.id,
        summary=f"{tried}, {timed} with a time, in {took}",
        plot=plot(points, _best_so_far(candidate.trials), across="trial"),
        importance=tuple(sorted(candidate.tuned.importance.items(), key=lambda item: -item[1])),
        best=tuple((str(t.config), words.microseconds(t.value_us), _trial_note(t)) for t in ranked),
        race=_race(candidate),
    )


def _race(candidate: CandidateView) -> tuple[tuple[str, str, str], ...]:
    """Fastest first; those that did not run last, with the reason."""
    failed = [point for point in (candidate.raced.points if candidate.raced else ()) if point.value_us is None]
    rows = [
        (str(point.config), words.microseconds(point.value_us), _modelled_note(candidate, point.config))
        for point in candidate.raced_points
    ]
    return (*rows, *((str(p.config), words.microseconds(None), f"{p.code}: {p.message}") for p in failed))


def _modelled_note(candidate: CandidateView, config: Config) -> str:
    return f"{words.microseconds(candidate.modelled_us(config))} modelled"


def _best_so_far(trials: Sequence[TrialEvent]) -> list[float | None]:
    """After each trial, the least time of a kernel that does not spill."""
    best: list[float | None] = []
    for trial in trials:
        before = best[-1] if best else None
        if trial.value_us is None or trial.resources.get("spill_bytes"):
            best.append(before)
        else:
            best.append(trial.value_us if before is None else min(before, trial.value_us))
    return best


def _merit(trial: TrialEvent) -> tuple[bool, float]:
    return bool(trial.resources.get("spill_bytes")), trial.value_us or 0.0


def _trial_style(trial: TrialEvent) -> str:
    return "bad" if trial.value_us is None else "spills" if trial.resources.get("spill_bytes") else "plain"


def _trial_label(trial: TrialEvent) -> str:
    return f"{trial.config}: {words.microseconds(trial.value_us)} modelled. {_trial_note(trial)}"


def _trial_note(trial: TrialEvent) -> str:
    resources = trial.resources
    parts = [trial.reason] if trial.reason else []
    if "registers" in resources:
        parts.append(f"{resources['registers']} registers")
    if resources.get("spill_bytes"):
        parts.append(f"{resources['spill_bytes']} bytes spilled")
    return ", ".join(parts)


# -------------------------------------------------------------------------------------------- decisions, machine


def decisions(view: RunView) -> tuple[Decision, ...]:
    """After each round, and by the reviewer, in order."""
    entries: list[tuple[int, int, Decision]] = []
    for compared in view.compared:
        tone: Tone = "good" if compared.improved else "plain"
        what = "a better kernel" if compared.improved else "no better kernel"
        entries.append((compared.round, 0, Decision(f"round {compared.round}", what, compared.message, tone)))
    for decided in view.decided:
        what = "go on" if decided.go_on else f"end: {decided.status}"
        entries.append((decided.round, 1, Decision(f"round {decided.round}", what, decided.reason)))
    for review in view.reviews:
        who = f"reviewer {review.reviewer}".strip()
        entries.append((review.round, 2, Decision(who, review.decision.replace("_", " "), review.note)))
    return tuple(entry for _, _, entry in sorted(entries, key=lambda item: item[:2]))


def environment(view: RunView) -> Pairs:
    run, verdict = view.run, view.best_verdict
    target = TARGETS.get(run.target)
    pairs = [
        ("run", run.id),
        ("started", run.started_utc),
        ("spec", f"{run.spec.name}, {run.spec.sha256[:16]}"),
        ("target", f"{run.target}, {target.card}" if target else run.target),
        ("device", verdict.device_uuid if verdict and verdict.device_uuid else "none: nothing was timed"),
        ("judge", view.judge),
        ("box", verdict.box if verdict else view.box),
        ("search seed", str(run.seed)),
    ]
    if verdict:
        pairs += [("verdict's seed", verdict.seed), ("its commitment", verdict.seed_commitment)]
    limits = {name: value for name, value in view.limits.model_dump().items() if value is not None}
    pairs.append(("limits", ", ".join(f"{name} {words.figure(value)}" for name, value in limits.items()) or "none"))
    pairs += list(run.versions.items())
    return tuple(pairs)


def commands(view: RunView) -> tuple[str, ...]:
    """Shell commands that repeat the search, and the winner's verdict."""
    run, options = view.run, view.run.options
    path = Path(run.spec_path)
    spec = run.spec.name if path.parent.name == "specs" else run.spec_path
    again = ["tilewright", "optimize", spec, "--target", run.target, "--sandbox", view.box, "--seed", str(run.seed)]
    for proposer in options.get("proposers", ()):
        again += ["--proposer", str(proposer)]
    if view.limits.rounds is not None:
        again += ["--rounds", str(view.limits.rounds)]
    if "trials" in options:
        again += ["--trials", str(options["trials"])]
    judge = ["--judge", view.judge] if "judge" in options else []
    lines = [shlex.join([*again, *judge])]
    if view.best:
        config = point_of(view, view.best)[0]
        verify = ["tilewright", "verify", spec, f"runs/{run.id}/candidates/{view.best.id}.py", "--target", run.target]
        for name, value in (config.root if config else {}).items():
            verify += ["--config", f"{name}={value}"]
        lines.append(shlex.join([*verify, *judge]))
    return tuple(lines)
