"""What a box is to its callers: it starts sessions; a session answers one request at a time with bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from ..contract import BoxReport

Role = Literal["build", "interpret"]
Status = Literal["replied", "timeout", "out_of_memory", "crashed", "oversize"]


@dataclass(frozen=True)
class Exchange:
    """How one request ended. `reply` is a whole frame where the status is `replied`, and empty otherwise."""

    status: Status
    reply: bytes
    stderr: str
    """The last 8 KiB, without control characters."""
    exit_code: int | None
    """None while the worker lives; negative for a signal."""
    seconds: float
    """From the request's first byte; the worker's start is not counted."""


class Session(Protocol):
    """One live worker in one box. It serves one candidate, then is closed. Starting it does not wait for the worker,
    so a session that is opened early is warm when it is needed."""

    label: str
    """Of its box, as verdicts show it."""

    def exchange(self, request: bytes, timeout_s: float) -> Exchange:
        """Send one frame, wait for one. SandboxUnavailable if the worker never came up; whatever happens after that
        is an Exchange. After any status but `replied` the worker is gone."""
        ...

    def close(self) -> None:
        """End every process of the session and remove its files. May be called twice."""
        ...


class Box(Protocol):
    """An isolation boundary."""

    name: str
    """`docker`, `bubblewrap` or `process`."""
    label: str
    """What a verdict shows: the name, and `process (unsafe)` for the box that isolates nothing."""
    isolates: bool

    def probe(self) -> BoxReport: ...

    def start(self, role: Role) -> Session: ...
