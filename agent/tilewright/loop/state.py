"""What the graph carries from node to node: scalars alone. Everything else is in the journal."""

from __future__ import annotations

from typing import TypedDict


class State(TypedDict):
    run: str
    """Id of the run."""
    round: int
    """The round at work, counted from 1; 0 before the first."""
    spent: str
    """Which budget refused a step, in words; empty while none did."""
    over: bool
    """True once the search is over and only review and publish remain."""
    again: bool
    """True where the reviewer sent the winner back."""


def initial_state(run_id: str) -> State:
    return State(run=run_id, round=0, spent="", over=False, again=False)
