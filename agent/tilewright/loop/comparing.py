"""Compare: judge the round's candidates at full depth, best first, until one beats the incumbent.

Under the interpreter the order is that of modelled times, and the first that passes every check is better. On a device
it is that of the race, and one that passes is better only if it was measured to be.
"""

from __future__ import annotations

import time

from tilewright.verify import verify
from tilewright_sandbox.contract import Config, Measured

from . import events as ev
from .making import best_point, by_modelled_time, by_raced_time, label
from .measured import measured_times, median_us
from .on_device import verdict_on_device
from .search import Search
from .state import State
from .view import CandidateView, RunView

RACE_NOISE = 1.03
"""Races are of different hours: one that was lost by less than this is decided by a verdict."""


def compare(search: Search, state: State) -> State:
    view, number = search.view, state["round"]
    if any(c.round == number for c in view.compared):
        return state
    won = _measured_winner(search, number) if search.on_device else _modelled_winner(search, number)
    if won:
        search.record(won)
        return state
    incumbent = view.best_compared
    message = "no candidate of this round is better" if incumbent else "no candidate is verified"
    kept = incumbent or ev.Compared(
        round=number, candidate_id=None, config=None, modelled_us=None, improved=False, message=message
    )
    search.record(kept.model_copy(update={"round": number, "improved": False, "message": message}))
    return state


def _modelled_winner(search: Search, number: int) -> ev.Compared | None:
    """The first by modelled time that beats the incumbent and is verified."""
    incumbent = search.view.best_compared
    for candidate in screened(search.view.in_round(number)):
        config, modelled_us = best_point(candidate)
        if incumbent and incumbent.modelled_us is not None and modelled_us >= incumbent.modelled_us:
            break
        judged = candidate.judged("full", config) or _judge_fully(search, candidate, config)
        if isinstance(judged.verdict, Measured):
            message = f"{label(candidate)} with {config}: modelled {modelled_us:.1f} µs, verified"
            return _compared(candidate, config, modelled_us, message)
    return None


def _measured_winner(search: Search, number: int) -> ev.Compared | None:
    """The first by raced time that is verified and measured to be faster than the incumbent."""
    view = search.view
    to_beat_us = view.measured_us
    for candidate in contenders(view.in_round(number)):
        config, raced_us = best_point(candidate)
        if to_beat_us is not None and raced_us >= RACE_NOISE * (incumbent_raced_us(view) or to_beat_us):
            break
        judged = candidate.judged("full", config)
        if judged is None:
            search.step(f"judging and timing {label(candidate)}: {config}")
            judged = verdict_on_device(search, candidate, config)
        measured_us = median_us(measured_times(judged.verdict))
        if measured_us is not None and (to_beat_us is None or measured_us < to_beat_us):
            message = f"{label(candidate)} with {config}: measured {measured_us:.1f} µs, verified"
            return _compared(candidate, config, candidate.modelled_us(config), message)
    return None


def incumbent_raced_us(view: RunView) -> float | None:
    point = view.best_compared
    return view.best.raced_us(point.config) if view.best and point and point.config else None


def _compared(view: CandidateView, config: Config, modelled_us: float | None, message: str) -> ev.Compared:
    return ev.Compared(
        round=view.round, candidate_id=view.id, config=config, modelled_us=modelled_us, improved=True, message=message
    )


def screened(candidates: list[CandidateView]) -> list[CandidateView]:
    """Those that passed the screen, best modelled time first."""
    return sorted((c for c in candidates if passed_screen(c)), key=by_modelled_time)


def contenders(candidates: list[CandidateView]) -> list[CandidateView]:
    """Those that ran in their race, fastest first. A modelled time never stands beside a measured one."""
    return sorted((c for c in candidates if passed_screen(c) and c.raced_points), key=by_raced_time)


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
