"""Budgets: one class asks before each step whether it may begin, and learns afterwards what it cost.

Money and GPU time are reserved in the journal before they are spent: a run killed between the two counts the whole
reservation as spent. Wall time is expected to be what the same step took the longest so far.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from .events import Limits, Reserved, Settled, Step
from .view import RunView


class BudgetExhausted(Exception):
    """A step may not begin. `budget` is its name on the command line."""

    def __init__(self, budget: str, spent: str, limit: str, step: str) -> None:
        super().__init__(f"{budget} spent: {spent} of {limit}, and `{step}` would go over it")
        self.budget = budget


@dataclass
class Spend:
    """What a step turned out to cost; the step fills it in."""

    usd: float = 0.0
    gpu_s: float = 0.0
    reserved_gpu_s: float = 0.0


@dataclass
class Budget:
    """Reads limits and spend from the folded journal, writes reservations to it."""

    view: Callable[[], RunView]
    append: Callable[[Reserved | Settled], object]
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    longest_s: dict[str, float] = field(default_factory=dict)

    def wall_s(self) -> float:
        """Time at work so far: that of the journal, and what has passed since its last event."""
        view = self.view()
        since = (self.clock() - datetime.fromisoformat(view.last_at)).total_seconds()
        return view.wall_s + max(0.0, since)

    def remaining_wall_s(self) -> float | None:
        limit = self.view().limits.wall_s
        return None if limit is None else limit - self.wall_s()

    def remaining_gpu_s(self) -> float | None:
        limit = self.view().limits.gpu_s
        return None if limit is None else limit - self.view().gpu_s

    def rounds_left(self) -> int | None:
        """Rounds that may still be proposed; each winner that was sent back grants one more."""
        view = self.view()
        return None if view.limits.rounds is None else view.limits.rounds + view.sent_back - view.round

    def check(self, step: Step, *, usd: float = 0.0, gpu_s: float = 0.0) -> None:
        """BudgetExhausted if the step, at what it is expected to cost, would go over a limit."""
        view = self.view()
        limits = view.limits
        if step == "propose" and (rounds := self.rounds_left()) is not None and rounds < 1:
            raise BudgetExhausted("--rounds", str(view.round), str(view.round + rounds), step)
        if limits.usd is not None and (view.usd + usd > limits.usd):
            raise BudgetExhausted("--budget-usd", f"{view.usd:.2f}", f"{limits.usd:.2f} USD", step)
        if limits.gpu_s is not None and (view.gpu_s + gpu_s > limits.gpu_s):
            raise BudgetExhausted("--budget-gpu-seconds", f"{view.gpu_s:.0f}", f"{limits.gpu_s:.0f} s", step)
        left = self.remaining_wall_s()
        if left is not None and left < max(self.longest_s.get(step, 0.0), 1e-9):
            minutes = limits.wall_s / 60 if limits.wall_s else 0.0
            raise BudgetExhausted("--budget-minutes", f"{self.wall_s() / 60:.1f}", f"{minutes:.1f} minutes", step)

    @contextmanager
    def spending(self, step: Step, *, usd: float = 0.0, gpu_s: float = 0.0, token: str = "") -> Iterator[Spend]:
        """Reserve, let the step run, settle. A step that raises is settled at the whole reservation, one that was ended
        because a budget was spent at what it spent.

        `token` names a step that is done again after it raised or was killed: what it reserved then counts for it now.
        """
        held = self.view().reserved(token) if token else None
        usd, gpu_s = (held.usd, held.gpu_s) if held else (usd, gpu_s)
        self.check(step, usd=0.0 if held else usd, gpu_s=0.0 if held else gpu_s)
        if (usd or gpu_s) and not held:
            token = token or uuid.uuid4().hex
            self.append(Reserved(token=token, step=step, usd=usd, gpu_s=gpu_s))
        spend = Spend(reserved_gpu_s=gpu_s)
        begun = self.clock()
        try:
            yield spend
        except BudgetExhausted:
            if usd or gpu_s:
                self.append(Settled(token=token, usd=spend.usd, gpu_s=spend.gpu_s))
            raise
        took_s = (self.clock() - begun).total_seconds()
        self.longest_s[step] = max(self.longest_s.get(step, 0.0), took_s)
        if usd or gpu_s:
            self.append(Settled(token=token, usd=spend.usd, gpu_s=spend.gpu_s))


def limits_from(rounds: int | None, minutes: float | None, gpu_seconds: float | None, usd: float | None) -> Limits:
    """Limits as a person gives them."""
    return Limits(rounds=rounds, wall_s=None if minutes is None else minutes * 60, gpu_s=gpu_seconds, usd=usd)
