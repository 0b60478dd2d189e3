"""Compare: judge the round's candidates at full depth, best modelled time first, until one beats the incumbent."""

from __future__ import annotations

import time

from tilewright.verify import verify
from tilewright_sandbox.contract import Config, Measured

from . import events as ev
from .making import best_point, by_modelled_time, label
from .search import Search
from .state import State
from .view import CandidateView


def compare(search: Search, state: State) -> State:
    view, number = search.view, state["round"]
    if any(c.round == number for c in view.compared):
        return state
    incumbent = view.best_compared
    for candidate in contenders(view.in_round(number)):
        config, modelled_us = best_point(candidate)
        if incumbent and incumbent.modelled_us is not None and modelled_us >= incumbent.modelled_us:
            break
        judged = candidate.judged("full", config) or _judge_fully(search, candidate, config)
        if isinstance(judged.verdict, Measured):
            message = f"{label(candidate)} with {config}: modelled {modelled_us:.1f} µs, verified"
            search.record(
                ev.Compared(
                    round=number,
                    candidate_id=candidate.id,
                    config=config,
                    modelled_us=modelled_us,
                    improved=True,
                    message=message,
                )
            )
            return state
    message = "no candidate of this round is better" if incumbent else "no candidate is verified"
    kept = incumbent or ev.Compared(
        round=number, candidate_id=None, config=None, modelled_us=None, improved=False, message=message
    )
    search.record(kept.model_copy(update={"round": number, "improved": False, "message": message}))
    return state


def contenders(candidates: list[CandidateView]) -> list[CandidateView]:
    """Those that passed the screen, best modelled time first."""
    return sorted((c for c in candidates if passed_screen(c)), key=by_modelled_time)


def passed_screen(view: CandidateView) -> bool:
    judged = view.judged("screen")
    return judged is not None and isinstance(judged.verdict, Measured)


def _judge_fully(search: Search, view: CandidateView, config: Config) -> ev.JudgedEvent:
    search.step(f"judging {label(view)} in full: {config}")
    begun = time.monotonic()
    with search.budget.spending("compare"):
        verdict = verify(
            search.spec_folder,
            view.candidate,
            config=config,
            box=search.box,
            target=search.target.name,
            judge=search.judge,
            blobs_path=search.blobs_path,
        )
    return search.record(
        ev.JudgedEvent(
            round=view.round,
            candidate_id=view.id,
            config=config,
            depth="full",
            verdict=verdict,
            seconds=time.monotonic() - begun,
        )
    )
