"""Lines for a person, with Rich markup. No modelled time stands anywhere without the word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tilewright.loop.view import CandidateView, RunView
from tilewright_sandbox.contract import Check, Measured, MeasuredTime, ModelledTime, Rejected

MARK = {"PASS": "[green]✓ PASS[/]", "FAIL": "[red]✗ FAIL[/]", "NOT_RUN": "[yellow]– NOT RUN[/]"}


def console() -> Console:
    """Stdout; wide where no terminal sets the width, so that what a script reads is not cut."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=200)


def verdict_line(verdict: Measured | Rejected) -> str:
    if isinstance(verdict, Rejected):
        return f"[red bold]rejected at {verdict.stage}[/] ({verdict.code}): {escape(verdict.message)}"
    passed = sum(check.status == "PASS" for check in verdict.checks)
    hybrid = " · hybrid: a library contraction does part of the work" if verdict.hybrid else ""
    return (
        f"[green bold]passed[/] {passed} of {len(verdict.checks)} checks · equivalence: {verdict.rung} · "
        f"evidence: {verdict.evidence} · box: {verdict.box}{hybrid}"
    )


def checks_table(checks: tuple[Check, ...]) -> Table:
    table = Table("check", "", "what was found", box=None, pad_edge=False, header_style="dim")
    for check in checks:
        facts = " · ".join(f"{name} {_figure(value)}" for name, value in check.facts.items())
        found = " · ".join(part for part in (check.reason, facts) if part)
        table.add_row(check.name, MARK[check.status], escape(found))
    return table


def _figure(value: bool | int | float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def modelled(us: float | None) -> str:
    return "–" if us is None else f"modelled {us:.1f} µs"


def measured(us: float | None) -> str:
    return "–" if us is None else f"measured {us:.1f} µs"


def best_text(measured_us: float | None, modelled_us: float | None) -> str:
    """Of the best kernel: the measured time where there is one."""
    return modelled(modelled_us) if measured_us is None else measured(measured_us)


def times_lines(times: tuple[ModelledTime | MeasuredTime, ...]) -> Iterator[str]:
    """One line a workload."""
    for time in times:
        if isinstance(time, MeasuredTime):
            yield f"{time.workload.label}: {_measured_line(time)}"
        else:
            share = time.modelled_us / time.roofline_us
            label = time.workload.label
            yield f"{label}: {modelled(time.modelled_us)}, {share:.2f}× of the roofline, {time.bound} bound"


def _measured_line(time: MeasuredTime) -> str:
    """Median and its spread, gain over the strongest baseline, share of the roofline, the noise floor."""
    low, mid, high = time.ratio
    parts = [f"{measured(time.median_us)} (p10 {time.p10_us:.1f}, p90 {time.p90_us:.1f}, n = {time.samples})"]
    if time.strongest:
        against_us = time.baselines_us[time.strongest]
        parts.append(f"{mid:.2f}× [{low:.2f}, {high:.2f}] against {time.strongest} at {against_us:.1f} µs")
    parts.append(f"{time.roofline_us / time.median_us:.0%} of the roofline")
    if time.noise:
        parts.append(f"noise [{time.noise[0]:.3f}, {time.noise[2]:.3f}]")
    if time.call_us is not None:
        parts.append(f"a call {time.call_us:.1f} µs")
    if time.dropped_blocks:
        parts.append(f"{time.dropped_blocks} blocks dropped")
    parts += [f"{name} could not be run: {reason}" for name, reason in time.missing_baselines.items()]
    return escape(", ".join(parts))


def obstacles_lines(obstacles: tuple[str, ...]) -> Iterator[str]:
    if obstacles:
        yield "[yellow]This kernel cannot be accepted:[/]"
        yield from (f"  · {escape(obstacle)}" for obstacle in obstacles)


def outcome_lines(run_path: Path, view: RunView, report: Path | None, status: str) -> Iterator[str]:
    """How a run stands, and what to type next."""
    colour = {"verified": "green", "no_win": "yellow", "exhausted": "yellow", "refused": "red"}.get(status, "yellow")
    reason = view.stopped.reason if view.stopped else ""
    reason = reason or (view.published.reason if view.published else view.decided[-1].reason if view.decided else "")
    yield f"[{colour} bold]{status}[/] · {escape(view.run.spec.name)} · {escape(reason)}"
    if view.best and view.best_compared and view.best_verdict:
        point = view.best_compared
        yield f"best kernel: {escape(view.best.candidate.title)} ({view.best.id}), {escape(str(point.config))}"
        roofline = view.preflight.roofline_us if view.preflight else None
        of = (
            f" ({point.modelled_us / roofline:.2f}× of the modelled roofline)" if roofline and point.modelled_us else ""
        )
        if view.speedup:
            yield f"{measured(view.measured_us)}, {_speedup(view.speedup)}"
            yield from (f"  {line}" for line in times_lines(view.measured))
        else:
            yield f"{modelled(point.modelled_us)}{of} · nothing was timed"
        yield verdict_line(view.best_verdict)
    for candidate in view.candidates.values():
        yield f"  {_ladder(candidate)}"
    yield f"journal: {run_path / 'journal.jsonl'}" + (f" · report: {report}" if report else "")
    if view.awaits_review:
        yield f"next: [bold]tilewright review {view.run.id}[/]"


def _speedup(ratio: tuple[float, float, float]) -> str:
    return f"{ratio[1]:.2f}× [{ratio[0]:.2f}, {ratio[2]:.2f}] against the strongest baseline"


def _ladder(view: CandidateView) -> str:
    return f"{ladder(view)}  {view.id[:8]}  {escape(view.candidate.title)}  {point_text(view)}"


def ladder(view: CandidateView) -> str:
    """Built, screened, tuned, verified: a mark each."""
    steps = [
        view.built is not None,
        view.judged("screen") is not None,
        view.tuned is not None,
        view.verified is not None,
    ]
    if view.rejected is None:
        return "".join("[green]✓[/]" if done else "[dim]·[/]" for done in steps)
    return "[green]✓[/]" * sum(steps[:-1]) + "[red]✗[/]" + "[dim]·[/]" * (3 - sum(steps[:-1]))


def point_text(view: CandidateView) -> str:
    if view.rejected:
        return f"[red]rejected at {view.rejected.stage}[/] [dim]{escape(view.rejected.code)}[/]"
    if view.raced_points:
        return f"raced {view.raced_points[0].value_us:.1f} µs"
    if view.raced:
        return f"[red]no config ran[/] [dim]{escape(view.raced.points[0].code)}[/]"
    if view.tuned:
        return modelled(view.tuned.value_us)
    return modelled(view.built.modelled_us if view.built else None)
