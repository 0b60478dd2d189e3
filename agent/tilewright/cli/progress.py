"""Progress on stderr: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from tilewright.loop import events as ev
from tilewright.loop.view import RunView

from .pages import best_text, ladder, modelled, point_text


class Progress:
    """Use as a context manager; give `on_event` and `on_step` to the runner."""

    def __init__(self, run_path: Path) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True) if sys.stderr.isatty() else None
        self._run_path = run_path
        self._step = ""
        self._view: RunView | None = None
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        else:
            self._line(f"run {self._run_path.name}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def on_step(self, text: str) -> None:
        self._step = text
        if self._live:
            self._live.update(self._screen())
        else:
            self._line(f"{text} …")

    def on_event(self, event: ev.AnyEvent, view: RunView) -> None:
        self._view = view
        if self._live:
            self._live.update(self._screen())
        elif line := describe(event, view):
            self._line(line)

    def _line(self, text: str) -> None:
        self._console.print(f"{time.monotonic() - self._begun:6.1f} s  {escape(text)}", soft_wrap=True)

    def _screen(self) -> Group:
        view = self._view
        if view is None:
            return Group(Spinner("dots", text=self._step))
        table = Table("", "candidate", "idea", "time", box=None, pad_edge=False, header_style="dim")
        for candidate in list(view.candidates.values())[-12:]:
            title = escape(candidate.candidate.title)
            table.add_row(ladder(candidate), candidate.id[:8], title, point_text(candidate))
        return Group(table, Text.from_markup(spend_line(view)), Spinner("dots", text=self._step))


def spend_line(view: RunView) -> str:
    best = view.best_compared
    rounds = f"{view.round}/{view.limits.rounds}" if view.limits.rounds else str(view.round)
    minutes = f"{view.wall_s / 60:.1f}" + (f"/{view.limits.wall_s / 60:.3g}" if view.limits.wall_s else "")
    usd = f" · {view.usd:.2f} USD" if view.limits.usd is not None or view.usd else ""
    gpu = f" · {view.gpu_s:.0f} s on the GPU" if view.gpu_s else ""
    text = best_text(view.measured_us, best.modelled_us) if best else ""
    if view.speedup:
        low, mid, high = view.speedup
        text += f", {mid:.2f}× [{low:.2f}, {high:.2f}]"
    found = f"best so far: {text}, verified" if best else "no verified kernel yet"
    return escape(f"{found} · round {rounds} · {minutes} min{usd}{gpu}")


def describe(event: ev.AnyEvent, view: RunView) -> str:
    """One plain line for an event, or nothing where the step's own line said it."""
    match event:
        case ev.Audited():
            failed = [finding.name for finding in event.report.findings if finding.status == "FAIL"]
            return f"the spec is not sound: {', '.join(failed)}" if failed else "the spec is sound"
        case ev.Traced(graph=None):
            return f"the reference cannot be traced: {event.message}"
        case ev.Preflight():
            return event.message
        case ev.Proposed():
            return f"round {event.round}: {event.proposer} offers {len(event.candidates)} candidates"
        case ev.Built():
            return f"{_name(view, event.candidate_id)}: built, {modelled(event.modelled_us)}"
        case ev.JudgedEvent():
            end = "passed" if event.verdict.verdict == "measured" else f"rejected at {event.verdict.stage}"
            why = "" if event.verdict.verdict == "measured" else f": {event.verdict.message}"
            return f"{_name(view, event.candidate_id)}: {end} ({event.depth}){why}"
        case ev.Tuned():
            return f"{_name(view, event.candidate_id)}: tuned in {event.trials} trials, {modelled(event.value_us)}"
        case ev.Raced():
            ran = [p.value_us for p in event.points if p.value_us is not None]
            best = f"raced {min(ran):.1f} µs at best" if ran else "none ran"
            return f"{_name(view, event.candidate_id)}: {len(event.points)} configs on the device, {best}"
        case ev.Compared():
            return f"best so far: {event.message}"
        case ev.Decided():
            return f"round {event.round}: {'go on' if event.go_on else 'the search is over'}, {event.reason}"
        case ev.Resumed():
            torn = f"; {event.torn_bytes} bytes of a torn last line set aside" if event.torn_bytes else ""
            return f"resumed{torn}"
        case ev.Stopped():
            return f"stopped: {event.reason}"
    return ""


def _name(view: RunView, candidate_id: str) -> str:
    title = view.candidates[candidate_id].candidate.title
    return f"{candidate_id[:8]} {title}".rstrip()
