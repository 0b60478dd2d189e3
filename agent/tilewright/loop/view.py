"""`fold(events) -> RunView`: what a journal amounts to. Status, best kernel and spend are never stored, only folded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from tilewright_sandbox.contract import Candidate, Config, Measured, MeasuredTime, ModelledTime, Rejected, Run
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.jobs import AuditReport

from . import events as ev
from .journal import JournalError


@dataclass
class CandidateView:
    """One candidate and everything the journal says of it."""

    candidate: Candidate
    round: int
    built: ev.Built | None = None
    tuned: ev.Tuned | None = None
    trials: list[ev.TrialEvent] = field(default_factory=list)
    verdicts: list[ev.JudgedEvent] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def rejected(self) -> Rejected | None:
        """The verdict that ended it: at the build, at the screen, or of its best config."""
        last = self.verdicts[-1].verdict if self.verdicts else None
        return last if isinstance(last, Rejected) else None

    def judged(self, depth: str, config: Config | None = None) -> ev.JudgedEvent | None:
        found = (v for v in self.verdicts if v.depth == depth and (config is None or v.config == config))
        return next(found, None)

    @property
    def verified(self) -> ev.JudgedEvent | None:
        """The last full-depth verdict that every check passed."""
        return next((v for v in reversed(self.verdicts) if v.depth == "full" and isinstance(v.verdict, Measured)), None)

    @property
    def state(self) -> str:
        if rejection := self.rejected:
            return f"rejected at {rejection.stage}"
        for name, done in (("verified", self.verified), ("tuned", self.tuned), ("screened", self.judged("screen"))):
            if done:
                return name
        return "built" if self.built else "proposed"


@dataclass
class RunView:
    """A run as its journal tells it."""

    run: Run
    limits: ev.Limits
    box: str
    audit: AuditReport | None = None
    traced: ev.Traced | None = None
    preflight: ev.Preflight | None = None
    proposals: list[ev.Proposed] = field(default_factory=list)
    candidates: dict[str, CandidateView] = field(default_factory=dict)
    compared: list[ev.Compared] = field(default_factory=list)
    reflected: list[ev.Reflected] = field(default_factory=list)
    decided: list[ev.Decided] = field(default_factory=list)
    review_requests: list[ev.ReviewRequested] = field(default_factory=list)
    reviews: list[ev.Reviewed] = field(default_factory=list)
    published: ev.Published | None = None
    acceptance: ev.Accepted | ev.AcceptanceRefused | None = None
    stopped: ev.Stopped | None = None
    """Set where the last session ended before the run did."""
    usd: float = 0.0
    gpu_s: float = 0.0
    wall_s: float = 0.0
    last_at: str = ""
    _open: dict[str, ev.Reserved] = field(default_factory=dict)

    @property
    def graph(self) -> OpGraph | None:
        return self.traced.graph if self.traced else None

    @property
    def round(self) -> int:
        """The last round that was proposed, counted from 1; 0 before the first."""
        return max((p.round for p in self.proposals), default=0)

    def in_round(self, number: int) -> list[CandidateView]:
        return [c for c in self.candidates.values() if c.round == number]

    @property
    def best(self) -> CandidateView | None:
        """The incumbent: the best verified kernel so far by modelled time."""
        last = self.compared[-1] if self.compared else None
        return self.candidates[last.candidate_id] if last and last.candidate_id else None

    @property
    def best_compared(self) -> ev.Compared | None:
        return self.compared[-1] if self.best else None

    @property
    def best_verdict(self) -> Measured | None:
        judged = self.best.verified if self.best else None
        return judged.verdict if judged and isinstance(judged.verdict, Measured) else None

    @property
    def speedup(self) -> tuple[float, float, float] | None:
        """Low, mid, high of the paired ratio on the slowest-gaining workload; None where nothing was measured."""
        times = self.best_verdict.times if self.best_verdict else ()
        ratios = [time.ratio for time in times if isinstance(time, MeasuredTime)]
        return min(ratios) if ratios else None

    @property
    def modelled(self) -> tuple[ModelledTime, ...]:
        times = self.best_verdict.times if self.best_verdict else ()
        return tuple(time for time in times if isinstance(time, ModelledTime))

    @property
    def note(self) -> str:
        """The reviewer's note that steers the next round."""
        last = self.reviews[-1] if self.reviews else None
        return last.note if last and last.decision == "send_back" else ""

    @property
    def sent_back(self) -> int:
        return sum(review.decision == "send_back" for review in self.reviews)

    @property
    def awaits_review(self) -> bool:
        return self.published is None and len(self.review_requests) > len(self.reviews)

    @property
    def status(self) -> str:
        """One of `events.Status`, or `running`, `awaiting review`, `accepted`."""
        if isinstance(self.acceptance, ev.Accepted):
            return "accepted"
        if self.published:
            return self.published.status
        if self.awaits_review:
            return "awaiting review"
        return "stopped" if self.stopped else "running"


def _seconds(earlier: str, later: str) -> float:
    return max(0.0, (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds())


def advance(view: RunView, event: ev.AnyEvent) -> None:
    """Take one more event in. The time from the end of a session to the start of the next one costs nothing."""
    idle = isinstance(event, ev.Resumed | ev.Reviewed | ev.Accepted | ev.AcceptanceRefused)
    if view.last_at and not idle:
        view.wall_s += _seconds(view.last_at, event.at)
    view.last_at = event.at
    match event:
        case ev.Audited():
            view.audit = event.report
        case ev.Traced():
            view.traced = event
        case ev.Preflight():
            view.preflight = event
        case ev.Proposed():
            view.proposals.append(event)
            view.usd += event.usd
            for candidate in event.candidates:
                view.candidates.setdefault(candidate.id, CandidateView(candidate, event.round))
        case ev.Built():
            view.candidates[event.candidate_id].built = event
        case ev.JudgedEvent():
            view.candidates[event.candidate_id].verdicts.append(event)
        case ev.TrialEvent():
            view.candidates[event.candidate_id].trials.append(event)
        case ev.Tuned():
            view.candidates[event.candidate_id].tuned = event
        case ev.Compared():
            view.compared.append(event)
        case ev.Reflected():
            view.reflected.append(event)
        case ev.Decided():
            view.decided.append(event)
        case ev.ReviewRequested():
            view.review_requests.append(event)
        case ev.Reviewed():
            view.reviews.append(event)
        case ev.Published():
            view.published = event
        case ev.Accepted() | ev.AcceptanceRefused():
            view.acceptance = event
        case ev.Reserved():
            view._open[event.token] = event
            view.usd += event.usd
            view.gpu_s += event.gpu_s
        case ev.Settled():
            held = view._open.pop(event.token)
            view.usd += event.usd - held.usd
            view.gpu_s += event.gpu_s - held.gpu_s
        case ev.Stopped():
            view.stopped = event
        case ev.Resumed():
            view.limits = event.limits or view.limits
            view.stopped = None
        case ev.RunStarted():
            raise JournalError(f"event {event.seq}: a run starts once", "start a new run")


def fold(events: Iterable[ev.AnyEvent]) -> RunView:
    """JournalError for a journal that does not begin with `run_started`."""
    iterator = iter(events)
    first = next(iterator, None)
    if not isinstance(first, ev.RunStarted):
        raise JournalError("the journal does not begin with run_started", "start a new run")
    view = RunView(run=first.run, limits=first.limits, box=first.box, last_at=first.at)
    for event in iterator:
        try:
            advance(view, event)
        except KeyError as error:
            raise JournalError(
                f"event {event.seq} ({event.kind}) speaks of {error}, which no earlier event names", "start a new run"
            ) from error
    return view
