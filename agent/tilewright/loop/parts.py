"""Records that events are made of."""

from __future__ import annotations

from pydantic import Field

from tilewright_sandbox.contract import Config, Record


class Limits(Record):
    """Hard budgets of a run; None is unlimited. Rounds granted by sending a winner back are added to `rounds`."""

    rounds: int | None = Field(default=None, ge=1)
    wall_s: float | None = Field(default=None, gt=0)
    """Time at work, over all sessions; waiting for a review costs nothing."""
    gpu_s: float | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)


class Feedback(Record):
    """What one candidate's end teaches the next proposal."""

    candidate_id: str
    stage: str
    """Where it was rejected, or `verified`, `screened`, `tuned`, `raced`."""
    message: str
    facts: dict[str, bool | int | float | str] = Field(default_factory=dict)


class RacedPoint(Record):
    """One config that was run on a device, or what stopped it."""

    config: Config
    value_us: float | None
    """Weighted geometric mean over the workloads, measured; None where it failed on one of them."""
    workloads_us: dict[str, float] = Field(default_factory=dict)
    """Workload label → median in µs."""
    stage: str = ""
    code: str = ""
    message: str = ""
