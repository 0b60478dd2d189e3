"""Proposers: whatever writes candidates. Each reads one `ProposalContext` and answers with candidates not yet tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tilewright_sandbox.contract import Candidate, Spec, Verdict
from tilewright_sandbox.graph import OpGraph


@dataclass(frozen=True)
class Attempt:
    """One candidate of this run and how it ended."""

    candidate: Candidate
    verdict: Verdict | None = None
    """None where it was built and not judged, because better ones came first."""
    modelled_us: float | None = None
    feedback: str = ""
    """What `reflect` made of the verdict, in a few lines."""


@dataclass(frozen=True)
class ProposalContext:
    """All that a proposer may know. Hidden inputs, hidden shapes and seeds are not in it."""

    spec: Spec
    graph: OpGraph | None
    """None where the reference cannot be traced: a proposer that needs the graph then offers nothing."""
    target: str
    round: int = 1
    history: tuple[Attempt, ...] = field(default=())
    note: str = ""
    """What the person who reviewed the last winner asked for."""

    def tried(self, candidate_id: str) -> bool:
        return any(attempt.candidate.id == candidate_id for attempt in self.history)


class Proposer(Protocol):
    name: str

    def propose(self, context: ProposalContext) -> list[Candidate]:
        """New candidates, best guess first; empty where it has none. A spec that it does not cover is no error."""
        ...
