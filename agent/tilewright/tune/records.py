"""What a search leaves behind: frozen records of its trials and its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import Field

from tilewright_sandbox.contract import Config, ConfigValue, Record
from tilewright_sandbox.jobs import BuildJob, Outcome

Build = Callable[[Sequence[BuildJob]], Sequence[Outcome]]
"""Builds jobs of one candidate and answers one outcome a job, in order. The caller owns the session behind it."""

TrialState = Literal["built", "same", "infeasible", "rejected"]
"""built: compiled and modelled. same: built, and its kernels and grids are those of an earlier trial. infeasible: WHERE
forbids it, so it was not built. rejected: the builder refused it, or it does not fit on the target."""


class TrialRecord(Record):
    """One point of SPACE and what became of it."""

    number: int
    config: Config
    value_us: float | None = None
    """Weighted geometric mean of modelled times over the tune and bench workloads; None where there is none."""
    state: TrialState
    reason: str = ""
    resources: dict[str, ConfigValue] = Field(default_factory=dict)
    """The largest `registers`, `spill_bytes` and `shared_bytes` and the lowest `occupancy` of its kernels; `binary` is
    equal for points that run the same code."""

    @property
    def spill_bytes(self) -> int:
        return int(self.resources.get("spill_bytes", 0))

    @property
    def rank(self) -> tuple[bool, float, int, int]:
        """Order of merit: no spills, then modelled time to a nanosecond, then registers, then the earlier trial."""
        value = round(self.value_us, 3) if self.value_us is not None else float("inf")
        return self.spill_bytes > 0, value, int(self.resources.get("registers", 0)), self.number


class TuneResult(Record):
    """The outcome of one search."""

    best: Config | None
    """None where no point could be built."""
    value_us: float | None
    """Modelled time of `best`; never measured."""
    trials: tuple[TrialRecord, ...]
    importance: dict[str, float]
    """Share of each parameter in the variance of the modelled time; empty where it cannot be told."""
    points: int
    """Points of SPACE."""
    feasible_points: int | None
    """Of these, what WHERE allows; None where SPACE is too large to count."""
    built: int
    """Trials that were compiled, those of an interrupted search included."""
    ended: Literal["space exhausted", "trials spent", "time spent"]
    seconds: float
