"""What a journal says: one frozen, discriminated event a line.

An event is written when a thing has happened and is never changed. A step whose event is in the journal is not done
again, so that a run that was killed at any moment goes on from its last line.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from tilewright_sandbox.contract import Candidate, Config, ConfigValue, ModelledTime, Record, Run, Verdict
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.jobs import AuditReport

from .parts import Feedback as Feedback
from .parts import Limits as Limits
from .parts import RacedPoint as RacedPoint

Status = Literal["verified", "no_win", "exhausted", "refused", "stopped"]
Decision = Literal["approve", "send_back", "reject", "stop"]
Step = Literal["preflight", "propose", "build", "judge", "tune", "compare", "reflect", "decide", "review", "publish"]


class Event(Record):
    """`seq` counts the lines from 0; `at` is UTC, ISO 8601."""

    seq: int = -1
    at: str = ""


class RunStarted(Event):
    kind: Literal["run_started"] = "run_started"
    run: Run
    limits: Limits
    box: str


class Audited(Event):
    kind: Literal["audited"] = "audited"
    report: AuditReport


class Traced(Event):
    """The operator graph of the reference, or why there is none."""

    kind: Literal["traced"] = "traced"
    graph: OpGraph | None = None
    message: str = ""


class Preflight(Event):
    """Roofline of the spec's workloads on the target, from the target's public figures: modelled, never measured."""

    kind: Literal["preflight"] = "preflight"
    roofline_us: float
    """Weighted geometric mean over tune and bench workloads."""
    workloads: dict[str, float]
    """Workload label → modelled roofline in µs."""
    message: str


class Proposed(Event):
    """One proposer's answer in one round, whole: a proposal that was paid for is never asked for again."""

    kind: Literal["proposed"] = "proposed"
    round: int
    proposer: str
    candidates: tuple[Candidate, ...]
    usd: float = 0.0


class Built(Event):
    """A candidate that was captured and compiled with its first config on every tune and bench workload."""

    kind: Literal["built"] = "built"
    round: int
    candidate_id: str
    config: Config
    plans: tuple[str, ...]
    """SHA-256 of each plan, stored as `blobs/<sha256>`."""
    times: tuple[ModelledTime, ...]
    modelled_us: float
    """Weighted geometric mean over the workloads."""
    seconds: float


class JudgedEvent(Event):
    """A verdict, from the builder (Rejected before any check) or from the judge."""

    kind: Literal["judged"] = "judged"
    round: int
    candidate_id: str
    config: Config | None
    depth: Literal["build", "screen", "full", "accept"]
    verdict: Verdict
    seconds: float = 0.0


class TrialEvent(Event):
    """One point of a candidate's SPACE, compiled and modelled."""

    kind: Literal["trial"] = "trial"
    round: int
    candidate_id: str
    number: int
    config: Config
    value_us: float | None
    """Weighted geometric mean of modelled times; None where the point is infeasible."""
    state: str
    reason: str = ""
    resources: dict[str, ConfigValue] = Field(default_factory=dict)


class Tuned(Event):
    kind: Literal["tuned"] = "tuned"
    round: int
    candidate_id: str
    config: Config
    value_us: float
    trials: int
    importance: dict[str, float] = Field(default_factory=dict)
    seconds: float


class Raced(Event):
    """The best trials of a candidate, run and timed on a device: a ranking, no verdict."""

    kind: Literal["raced"] = "raced"
    round: int
    candidate_id: str
    points: tuple[RacedPoint, ...]
    """In the order of their modelled times."""
    seconds: float
    """On the device."""


class Asked(Event):
    """A device is about to be given a job. What was drawn at random for it is kept: after a crash the same job is asked
    for again, and a verdict that came meanwhile is found."""

    kind: Literal["asked"] = "asked"
    candidate_id: str
    config: Config
    depth: Literal["screen", "full", "accept"]
    shape_seed: str
    """Hexadecimal; drawn after the candidate was written."""


class Compared(Event):
    """The best verified kernel after a round; None while there is none."""

    kind: Literal["compared"] = "compared"
    round: int
    candidate_id: str | None
    config: Config | None
    modelled_us: float | None
    improved: bool
    message: str


class Reflected(Event):
    kind: Literal["reflected"] = "reflected"
    round: int
    feedback: tuple[Feedback, ...]


class Decided(Event):
    kind: Literal["decided"] = "decided"
    round: int
    go_on: bool
    reason: str
    status: Status | None = None
    """Set where the search is over."""


class ReviewRequested(Event):
    kind: Literal["review_requested"] = "review_requested"
    round: int
    candidate_id: str
    obstacles: tuple[str, ...]


class Reviewed(Event):
    """A person's decision. No tool and no model can write one."""

    kind: Literal["reviewed"] = "reviewed"
    round: int
    candidate_id: str
    decision: Decision
    note: str = ""
    reviewer: str = ""


class Published(Event):
    """The end of a run."""

    kind: Literal["published"] = "published"
    status: Status
    candidate_id: str | None = None
    config: Config | None = None
    reason: str = ""


class Accepted(Event):
    kind: Literal["accepted"] = "accepted"
    candidate_id: str
    path: str
    reason: str = ""


class AcceptanceRefused(Event):
    kind: Literal["acceptance_refused"] = "acceptance_refused"
    candidate_id: str | None
    obstacles: tuple[str, ...]


class Reserved(Event):
    """Money or GPU time set aside before a step; counted as spent until a Settled event says what it cost."""

    kind: Literal["reserved"] = "reserved"
    token: str
    step: str
    usd: float = 0.0
    gpu_s: float = 0.0


class Settled(Event):
    kind: Literal["settled"] = "settled"
    token: str
    usd: float = 0.0
    gpu_s: float = 0.0


class Stopped(Event):
    """A session ended before the run did: interrupted, or the machine failed."""

    kind: Literal["stopped"] = "stopped"
    reason: str


class Resumed(Event):
    kind: Literal["resumed"] = "resumed"
    torn_bytes: int = 0
    """Bytes of a half-written last line, set aside in `torn-<n>`."""
    limits: Limits | None = None
    """New budgets, where the person gave any."""


AnyEvent = Annotated[
    RunStarted
    | Audited
    | Traced
    | Preflight
    | Proposed
    | Built
    | JudgedEvent
    | TrialEvent
    | Tuned
    | Raced
    | Asked
    | Compared
    | Reflected
    | Decided
    | ReviewRequested
    | Reviewed
    | Published
    | Accepted
    | AcceptanceRefused
    | Reserved
    | Settled
    | Stopped
    | Resumed,
    Field(discriminator="kind"),
]
ADAPTER: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
