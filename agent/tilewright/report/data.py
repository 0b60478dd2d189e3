"""What the page shows, as plain values. Templates see these and no event, so a new kind of event breaks no page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

Tone = Literal["good", "warn", "bad", "plain"]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Figure:
    """One number at the top of the page."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class CheckRow:
    name: str
    status: Literal["PASS", "FAIL", "NOT_RUN"]
    mandatory: bool
    reason: str
    facts: Pairs


@dataclass(frozen=True)
class TimeRow:
    """One workload. `kind` is `modelled` or `measured`, and the page never shows a time without it."""

    workload: str
    role: str
    kind: Literal["modelled", "measured"]
    time: str
    roofline: str
    of_roofline: str
    detail: str


@dataclass(frozen=True)
class KernelRow:
    name: str
    grid: str
    registers: int
    spill_bytes: int
    shared_bytes: int
    warps: int
    stages: int
    occupancy: str
    instructions: Pairs


@dataclass(frozen=True)
class CandidateRow:
    number: int
    round: int
    id: str
    title: str
    proposer: str
    ended: str
    tone: Tone
    code: str
    reason: str
    modelled: str
    raced: str
    """Measured in its race; a dash where it was not raced or did not run."""
    config: str


@dataclass(frozen=True)
class Decision:
    """What was decided after a round, or by a person."""

    who: str
    what: str
    why: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Tuning:
    """The search of one candidate's SPACE."""

    title: str
    summary: str
    plot: Markup
    importance: tuple[tuple[str, float], ...]
    """Parameter and share, most important first."""
    best: tuple[tuple[str, str, str], ...]
    """Config, modelled time and note of the best few trials."""
    race: tuple[tuple[str, str, str], ...] = ()
    """Config, measured time and note of those that a device ran, fastest first."""


@dataclass(frozen=True)
class Code:
    title: str
    id: str
    config: str
    lines: tuple[Markup, ...]
    """Highlighted source, a line each."""
    resources: Pairs = ()
    """The largest demands of its kernels, as its tuning found them."""


@dataclass(frozen=True)
class ReportData:
    run_id: str
    spec_name: str
    spec_summary: str
    headline: str
    sentence: str
    tone: Tone
    banners: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    checks: tuple[CheckRow, ...] = ()
    times: tuple[TimeRow, ...] = ()
    code: Code | None = None
    kernels: tuple[KernelRow, ...] = ()
    trajectory: Markup | None = None
    tunings: tuple[Tuning, ...] = ()
    candidates: tuple[CandidateRow, ...] = ()
    decisions: tuple[Decision, ...] = ()
    raced: bool = False
    """Whether a device ran any of the candidates in a race."""
    environment: Pairs = ()
    commands: tuple[str, ...] = ()
    audit: tuple[CheckRow, ...] = field(default=())
