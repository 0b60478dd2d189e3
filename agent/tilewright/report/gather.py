"""From a folded journal to `ReportData`: the verdict, its evidence, and the figures at the top of the page."""

from __future__ import annotations

from pathlib import Path

from tilewright.loop.measured import of_roofline, shortfalls
from tilewright.loop.view import CandidateView, RunView
from tilewright_sandbox.contract import Check, Config, MeasuredTime, ModelledTime, Time
from tilewright_sandbox.jobs import AuditReport

from . import words
from .compiled import kernel_rows
from .data import CheckRow, Code, Figure, Pairs, ReportData, TimeRow, Tone
from .highlight import highlight
from .history import candidate_rows, commands, decisions, environment, point_of, trajectory, tunings

NOTHING_TIMED = "Modelled: nothing was timed, and nothing can be accepted from this run."
RACED_ONLY = "Times of races rank candidates and are no evidence: no kernel was verified and timed yet."
UNSAFE = "Candidates ran in a plain process, which isolates nothing: this result is unsafe to accept."


def gather(run_path: Path, view: RunView) -> ReportData:
    """Everything that the page of a run shows."""
    best, verdict = view.best, view.best_verdict
    headline, sentence, tone = _verdict(view)
    return ReportData(
        run_id=view.run.id,
        spec_name=view.run.spec.name,
        spec_summary=view.run.spec.summary,
        headline=headline,
        sentence=sentence,
        tone=tone,
        banners=_banners(view),
        obstacles=view.obstacles,
        figures=_figures(view),
        checks=tuple(_check_row(check) for check in verdict.checks) if verdict else (),
        times=tuple(_time_row(time) for time in verdict.times) if verdict else (),
        code=_code(view, best) if best else None,
        kernels=kernel_rows(run_path, view) if best else (),
        trajectory=trajectory(view),
        tunings=tunings(view),
        candidates=candidate_rows(view),
        decisions=decisions(view),
        raced=any(candidate.raced for candidate in view.candidates.values()),
        environment=environment(view),
        commands=commands(view),
        audit=_audit_rows(view.audit) if view.audit and not view.audit.sound else (),
    )


def _verdict(view: RunView) -> tuple[str, str, Tone]:
    verdict, best = view.best_verdict, view.best
    if view.audit and not view.audit.sound:
        return "The spec was refused", "Its audit found that a wrong kernel could pass. No search was made.", "bad"
    if verdict is None or best is None:
        ending = view.published.reason if view.published else view.stopped.reason if view.stopped else ""
        return "No kernel was verified", _sentence(ending) or "The run has not ended yet.", "warn"
    passed = sum(check.status == "PASS" for check in verdict.checks)
    name = best.candidate.title or best.id
    sentence = f"{name} passed {passed} of {len(verdict.checks)} checks; its equivalence is {verdict.rung}."
    if speedup := view.speedup:
        low, mid, high = (words.times(ratio) for ratio in speedup)
        wins = not shortfalls(view.measured, view.run.spec.accept.min_speedup)
        return (
            f"{mid} faster ({low} to {high})" if wins else f"No win: {mid} ({low} to {high})",
            sentence,
            ("good" if wins else "warn"),
        )
    if view.status == "accepted":
        return "Accepted", sentence, "good"
    return "Verified, not timed", sentence, "warn"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def _banners(view: RunView) -> tuple[str, ...]:
    verdict = view.best_verdict
    banners = []
    if verdict is None or verdict.device_uuid is None:
        raced = any(candidate.raced_points for candidate in view.candidates.values())
        banners.append(RACED_ONLY if raced else NOTHING_TIMED)
    if (verdict and "unsafe" in verdict.box) or (not verdict and view.box == "process"):
        banners.append(UNSAFE)
    if verdict and verdict.hybrid:
        banners.append("Hybrid: a library contraction does part of the work.")
    return tuple(banners)


def _figures(view: RunView) -> tuple[Figure, ...]:
    point, verdict = view.best_compared, view.best_verdict
    figures = []
    if view.speedup:
        low, mid, high = (words.times(ratio) for ratio in view.speedup)
        figures.append(Figure("measured speed-up", mid, f"95% interval {low} to {high}"))
        figures.append(Figure("measured time", words.microseconds(view.measured_us), "weighted geometric mean"))
    if share := of_roofline(view.measured):
        figures.append(Figure("of the roofline", f"{1 / share:.0%}", "measured, at this card's own peaks"))
    if point and point.modelled_us:
        figures.append(Figure("modelled time", words.microseconds(point.modelled_us), "weighted geometric mean"))
    if view.preflight:
        roofline = view.preflight.roofline_us
        reached = (
            f"{roofline / point.modelled_us:.0%} of it reached, modelled" if point and point.modelled_us else "modelled"
        )
        figures.append(Figure("roofline", words.microseconds(roofline), reached))
    if verdict:
        figures.append(Figure("equivalence", verdict.rung, verdict.evidence))
    built = sum(candidate.built is not None for candidate in view.candidates.values())
    verified = sum(candidate.verified is not None for candidate in view.candidates.values())
    figures.append(Figure("candidates", str(len(view.candidates)), f"{built} built, {verified} verified"))
    spent = f"{words.count(view.round, 'round')}" + (f", ${view.usd:.2f}" if view.usd else "")
    figures.append(Figure("time at work", words.duration(view.wall_s), spent))
    return tuple(figures)


def _check_row(check: Check) -> CheckRow:
    return CheckRow(check.name, check.status, check.mandatory, check.reason, words.facts(check.facts))


def _audit_rows(audit: AuditReport) -> tuple[CheckRow, ...]:
    return tuple(
        CheckRow(finding.name.replace("_", " "), finding.status, True, finding.message, words.facts(finding.facts))
        for finding in audit.findings
    )


def _time_row(time: Time) -> TimeRow:
    if isinstance(time, ModelledTime):
        us, detail = time.modelled_us, f"{time.bound} bound, occupancy {time.occupancy:.0%}"
    else:
        us, detail = time.median_us, _measured_detail(time)
    return TimeRow(
        workload=time.workload.label,
        role=time.workload.role,
        kind=time.kind,
        time=words.microseconds(us),
        roofline=words.microseconds(time.roofline_us),
        of_roofline=f"{time.roofline_us / us:.0%}",
        detail=detail,
    )


def _measured_detail(time: MeasuredTime) -> str:
    """Gain over the strongest baseline, spread, noise floor, baselines, and what an eager caller waits for."""
    low, mid, high = (words.times(ratio) for ratio in time.ratio)
    parts = [f"{mid} ({low} to {high})" + (f" against {time.strongest}" if time.strongest else "")]
    parts.append(f"p10 {words.microseconds(time.p10_us)}, p90 {words.microseconds(time.p90_us)}, n = {time.samples}")
    if time.noise:
        parts.append(f"noise {time.noise[0]:.3f}× to {time.noise[2]:.3f}×")
    parts.append(", ".join(f"{name} {words.microseconds(us)}" for name, us in time.baselines_us.items()))
    parts += [f"{name} could not be run: {reason}" for name, reason in time.missing_baselines.items()]
    if time.call_us is not None:
        parts.append(f"a call from the host {words.microseconds(time.call_us)}")
    if time.dropped_blocks:
        parts.append(f"{words.count(time.dropped_blocks, 'block')} dropped")
    return "; ".join(part for part in parts if part)


def _code(view: RunView, best: CandidateView) -> Code:
    config = point_of(view, best)[0]
    return Code(
        title=best.candidate.title or "candidate",
        id=best.id,
        config=str(config) if config else "",
        lines=highlight(best.candidate.source),
        resources=_resources(best, config),
    )


def _resources(best: CandidateView, config: Config | None) -> Pairs:
    """Of the trial that had this config; `binary` is a name for machines."""
    trial = next((trial for trial in best.trials if trial.config == config), None)
    if trial is None:
        return ()
    resources = {name: value for name, value in trial.resources.items() if name not in ("binary", "occupancy")}
    occupancy = trial.resources.get("occupancy")
    lowest = (("occupancy", f"{occupancy:.0%}"),) if isinstance(occupancy, int | float) else ()
    return (*words.facts(resources), *lowest)
