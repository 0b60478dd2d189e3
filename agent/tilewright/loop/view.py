"""`fold(events) -> RunView`: what a journal amounts to. Status, best kernel and spend are never stored, only folded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from tilewright_sandbox.contract import Candidate, Config, Measured, MeasuredTime, ModelledTime, Rejected, Run
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.jobs import AuditReport

from . import events as ev
from . import measured
from .journal import JournalError


@dataclass
class CandidateView:
    """One candidate and everything the journal says of it."""

    candidate: Candidate
    round: int
    built: ev.Built | None = None
    tuned: ev.Tuned | None = None
    raced: ev.Raced | None = None
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
    def raced_points(self) -> list[ev.RacedPoint]:
        """Configs that a device has timed, fastest first."""
        timed = [(p.value_us, p) for p in (self.raced.points if self.raced else ()) if p.value_us is not None]
        return [point for _, point in sorted(timed, key=lambda pair: (pair[0], pair[1].config.id))]

    def raced_us(self, config: Config) -> float | None:
        return next((point.value_us for point in self.raced_points if point.config == config), None)

    def modelled_us(self, config: Config) -> float | None:
        """What the model says of one config: of its trial, or of the first build."""
        trial = next((t for t in self.trials if t.config == config and t.value_us is not None), None)
        if trial:
            return trial.value_us
        return self.built.modelled_us if self.built and self.built.config == config else None

    @property
    def state(self) -> str:
        if rejection := self.rejected:
            return f"rejected at {rejection.stage}"
        if self.raced and not self.verified:
            return "raced" if self.raced_points else "failed its race"
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
    asked: dict[tuple[str, str, str], ev.Asked] = field(default_factory=dict)
    """The last job of a candidate, depth and config that was handed to a device."""
    dismissed: list[ev.Reviewed] = field(default_factory=list)
    """Rejections after which the person let the run go on."""
    _open: dict[str, ev.Reserved] = field(default_factory=dict)

    @property
    def judge(self) -> str:
        """Who judges, as `open_judge` takes it."""
        return str(self.run.options.get("judge", "interpreter"))

    def reserved(self, token: str) -> ev.Reserved | None:
        """A reservation that was not settled: the step that made it never ended."""
        return self._open.get(token)

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
        """The incumbent: the best verified kernel so far, by measured time where there are any, else by modelled."""
        point = self.best_compared
        return self.candidates[point.candidate_id] if point and point.candidate_id else None

    @property
    def best_compared(self) -> ev.Compared | None:
        """Where the incumbent became so; what a person dismissed is none."""
        dismissed = {review.candidate_id for review in self.dismissed}
        held = (c for c in reversed(self.compared) if c.candidate_id and c.candidate_id not in dismissed)
        return next(held, None)

    @property
    def best_verdict(self) -> Measured | None:
        judged = self.best.verified if self.best else None
        return judged.verdict if judged and isinstance(judged.verdict, Measured) else None

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why the verdict on the best kernel is not enough to accept it; empty where it is, or where there is none."""
        return measured.verdict_obstacles(self.best_verdict, self.run.spec) if self.best_verdict else ()

    @property
    def measured(self) -> tuple[MeasuredTime, ...]:
        return measured.measured_times(self.best_verdict)

    @property
    def measured_us(self) -> float | None:
        """Weighted geometric mean of the best kernel's medians; None where nothing was measured."""
        return measured.median_us(self.measured)

    @property
    def speedup(self) -> tuple[float, float, float] | None:
        """Low, mid, high against the strongest baselines, weighted over the workloads; None where nothing was
        measured."""
        return measured.speedup(self.measured)

    @property
    def modelled(self) -> tuple[ModelledTime, ...]:
        times = self.best_verdict.times if self.best_verdict else ()
        return tuple(time for time in times if isinstance(time, ModelledTime))

    @property
    def note(self) -> str:
        """The reviewer's note that steers the next round."""
        last = self.reviews[-1] if self.reviews else None
        return last.note if last and last.decision in ("send_back", "reject") else ""

    @property
    def sent_back(self) -> int:
        """Rounds that a person granted by not taking a winner."""
        return sum(review.decision == "send_back" for review in self.reviews) + len(self.dismissed)

    @property
    def can_reopen(self) -> bool:
        """Ended because its winner was rejected: `resume` with new budgets searches on, steered by the reason."""
        return self.published is not None and bool(self.reviews) and self.reviews[-1].decision == "reject"

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
        case ev.Raced():
            view.candidates[event.candidate_id].raced = event
        case ev.Asked():
            view.asked[event.candidate_id, event.depth, event.config.id] = event
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
            view.asked = {key: asked for key, asked in view.asked.items() if asked.depth != "accept"}
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
            if event.limits and view.can_reopen:
                view.dismissed.append(view.reviews[-1])
                view.published = None
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
