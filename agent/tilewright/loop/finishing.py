"""Reflect, decide, review, publish: what a round taught, whether to go on, and a person's word at the end."""

from __future__ import annotations

from langgraph.types import interrupt

from . import events as ev
from .measured import headroom, measured_times, of_roofline, shortfalls, speedup
from .search import Search
from .state import State
from .view import CandidateView, RunView

ROOFLINE_REACHED = 1.05
"""A time within 5 % of the roofline leaves nothing to search for: measured where there is a device, else modelled."""
HEADROOM_GONE = 1.03
"""A baseline within 3 % of the measured roofline cannot be beaten by what is worth having."""
PATIENCE = 2
"""Rounds in a row without a better kernel after which the search ends."""


def feedback_on(view: CandidateView, roofline_us: float) -> ev.Feedback:
    """Where it ended and why, in the short form that a proposer reads."""
    facts: dict[str, bool | int | float | str] = {}
    if view.tuned:
        facts |= {"modelled_us": view.tuned.value_us, "modelled_of_roofline": view.tuned.value_us / roofline_us}
        if importance := view.tuned.importance:
            facts["parameter_that_mattered"] = max(importance, key=lambda name: importance[name])
    elif view.built:
        facts |= {"modelled_us": view.built.modelled_us, "modelled_of_roofline": view.built.modelled_us / roofline_us}
    facts |= _measured_facts(view)
    if rejection := view.rejected:
        return ev.Feedback(
            candidate_id=view.id,
            stage=rejection.stage,
            message=rejection.message,
            facts={**facts, **rejection.evidence, "code": rejection.code},
        )
    if view.raced and not view.raced_points:
        point = view.raced.points[0]
        return ev.Feedback(
            candidate_id=view.id, stage=point.stage, message=point.message, facts={**facts, "code": point.code}
        )
    return ev.Feedback(candidate_id=view.id, stage=view.state, message=view.candidate.title, facts=facts)


def _measured_facts(view: CandidateView) -> dict[str, bool | int | float | str]:
    """What a device found: of the race and of the timed verdict."""
    facts: dict[str, bool | int | float | str] = {}
    if view.raced_points and (raced_us := view.raced_points[0].value_us) is not None:
        facts["raced_us"] = raced_us
    times = measured_times(view.verified.verdict) if view.verified else ()
    if times and (gain := speedup(times)) and (share := of_roofline(times)):
        facts |= {"measured_speedup": gain[1], "measured_of_roofline": share, "against": times[0].strongest}
    return facts


def reflect(search: Search, state: State) -> State:
    view, number = search.view, state["round"]
    if view.preflight and not any(r.round == number for r in view.reflected):
        notes = tuple(feedback_on(c, view.preflight.roofline_us) for c in view.in_round(number))
        search.record(ev.Reflected(round=number, feedback=notes))
    return state


def verdict_on_round(view: RunView, number: int, spent: str, rounds_left: int | None) -> tuple[bool, str]:
    """Whether to go on after round `number`, and why. Depends on times and budgets, never on a secret seed."""
    best = view.best_compared
    if spent:
        return False, spent
    if end := _measured_end(view) if view.measured else _modelled_end(view):
        return False, end
    if not view.in_round(number):
        reason = view.traced.message if view.traced and not view.graph else ""
        return False, f"no proposer has anything new to offer{': ' + reason if reason else ''}"
    recent = [c for c in view.compared if c.round > number - PATIENCE]
    if best and len(recent) == PATIENCE and not any(c.improved for c in recent):
        return False, f"no better kernel in {PATIENCE} rounds"
    if rounds_left is not None and rounds_left < 1:
        return False, f"{view.round} of {view.round} rounds are done"
    return True, "a further round may find a better kernel"


def _modelled_end(view: RunView) -> str:
    """Why no further round is worth it, where all that there is are modelled times; empty where one may be."""
    best, roofline = view.best_compared, view.preflight
    if not (best and best.modelled_us and roofline and best.modelled_us <= ROOFLINE_REACHED * roofline.roofline_us):
        return ""
    ratio = best.modelled_us / roofline.roofline_us
    return f"the best kernel is modelled at {ratio:.2f}× of the roofline: nothing left to gain"


def _measured_end(view: RunView) -> str:
    """As `_modelled_end`, from the measured verdict of the best kernel, at the card's measured peaks."""
    share = of_roofline(view.measured)
    if share is not None and share <= ROOFLINE_REACHED:
        return f"the best kernel is measured at {share:.2f}× of the roofline: nothing left to gain"
    nearest = headroom(view.measured)
    if nearest and nearest[0] <= HEADROOM_GONE and outcome(view) == "no_win":
        ratio, time = nearest
        return (
            f"{time.strongest} is already at {ratio:.2f}× of the roofline at {time.workload.label}: no kernel can be "
            f"{view.run.spec.accept.min_speedup:g}× faster"
        )
    return ""


def outcome(view: RunView) -> ev.Status:
    """The status of a search that is over. What was measured is verified where it is a win on every workload."""
    if view.best is None:
        return "exhausted"
    return "no_win" if shortfalls(view.measured, view.run.spec.accept.min_speedup) else "verified"


def decide(search: Search, state: State) -> State:
    view, number = search.view, state["round"]
    decided = next((d for d in view.decided if d.round == number), None)
    if decided is None:
        go_on, reason = verdict_on_round(view, number, state["spent"], search.budget.rounds_left())
        status = None if go_on else outcome(view)
        decided = search.record(ev.Decided(round=number, go_on=go_on, reason=reason, status=status))
    if not decided.go_on and view.best and not any(r.round == number for r in view.review_requests):
        search.record(ev.ReviewRequested(round=number, candidate_id=view.best.id, obstacles=view.obstacles))
    return {**state, "over": not decided.go_on}


def review(search: Search, state: State) -> State:
    """Wait for a person. Nothing stands before the interrupt that may not be done twice."""
    number = state["round"]
    best = search.view.best
    reviewed = next((r for r in search.view.reviews if r.round == number), None)
    if best is None and reviewed is None:
        return {**state, "again": False}
    if reviewed is None:
        assert best is not None
        answer = interrupt({"run": state["run"], "candidate": best.id, "round": number})
        reviewed = search.record(
            ev.Reviewed(
                round=number,
                candidate_id=best.id,
                decision=answer["decision"],
                note=answer.get("note", ""),
                reviewer=answer.get("reviewer", ""),
            )
        )
    again = reviewed.decision == "send_back" or reviewed in search.view.dismissed
    return {**state, "again": again, "over": not again}


def publish(search: Search, state: State) -> State:
    view = search.view
    if view.published is None:
        search.record(ending(view))
    return state


def ending(view: RunView) -> ev.Published:
    """How the run ends: by the audit, by the search, or by the reviewer."""
    if view.audit and not view.audit.sound:
        failed = "; ".join(f"{f.name}: {f.message}" for f in view.audit.findings if f.status == "FAIL")
        return ev.Published(status="refused", reason=f"the spec failed its audit — {failed}")
    last = view.decided[-1]
    if view.best is None or view.best_compared is None:
        return ev.Published(status=last.status or "exhausted", reason=last.reason)
    status, reason = outcome(view), last.reason
    review_ = view.reviews[-1] if view.reviews else None
    if review_ and review_ not in view.dismissed:
        if review_.decision == "reject":
            status, reason = "no_win", f"rejected by the reviewer: {review_.note}"
        elif review_.decision == "stop":
            status, reason = "stopped", f"stopped by the reviewer{': ' + review_.note if review_.note else ''}"
    return ev.Published(status=status, candidate_id=view.best.id, config=view.best_compared.config, reason=reason)
