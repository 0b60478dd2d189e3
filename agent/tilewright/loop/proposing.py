"""Propose: ask every proposer once a round, and write down what it said before anything is done with it."""

from __future__ import annotations

from tilewright.propose import Attempt, ProposalContext
from tilewright_sandbox.contract import Candidate

from . import events as ev
from .events import Feedback
from .search import Search
from .state import State
from .view import CandidateView, RunView


def attempt(view: RunView, candidate: CandidateView) -> Attempt:
    notes = (
        note for round_ in reversed(view.reflected) for note in round_.feedback if note.candidate_id == candidate.id
    )
    modelled_us = (
        candidate.tuned.value_us if candidate.tuned else candidate.built.modelled_us if candidate.built else None
    )
    note = next(notes, None)
    return Attempt(
        candidate=candidate.candidate,
        verdict=candidate.verdicts[-1].verdict if candidate.verdicts else None,
        modelled_us=modelled_us,
        feedback=_in_words(note) if note else "",
    )


def _in_words(note: Feedback) -> str:
    """What a proposer reads: where it ended and why, and what a device measured."""
    found = [f"{note.stage}: {note.message}"]
    if "raced_us" in note.facts:
        found.append(f"{note.facts['raced_us']:.1f} µs in a race on the device")
    if "measured_speedup" in note.facts:
        found.append(
            f"measured {note.facts['measured_speedup']:.2f}× against {note.facts['against']}, "
            f"{note.facts['measured_of_roofline']:.2f}× of the roofline"
        )
    return "; ".join(found)


def context_of(view: RunView, number: int) -> ProposalContext:
    return ProposalContext(
        spec=view.run.spec,
        graph=view.graph,
        target=view.run.target,
        round=number,
        history=tuple(attempt(view, candidate) for candidate in view.candidates.values()),
        note=view.note,
    )


def propose(search: Search, state: State) -> State:
    view = search.view
    number = state["round"] + 1
    state = {**state, "round": number, "spent": "", "again": False}
    for proposer in search.proposers:
        if any(p.round == number and p.proposer == proposer.name for p in view.proposals):
            continue
        search.step(f"round {number}: {proposer.name} proposes")
        with search.budget.spending("propose"):
            offered = proposer.propose(context_of(view, number))
        search.record(ev.Proposed(round=number, proposer=proposer.name, candidates=unseen(view, offered)))
    for candidate in view.in_round(number):
        search.store_source(candidate.candidate)
    return state


def unseen(view: RunView, offered: list[Candidate]) -> tuple[Candidate, ...]:
    """Those that this run has not met, each once."""
    return tuple({c.id: c for c in offered if c.id not in view.candidates}.values())
