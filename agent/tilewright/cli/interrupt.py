"""Ctrl-C: the first, or a SIGTERM, asks to stop between two steps; the second stops at once; more change nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

from tilewright.loop import events as ev

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Use as a context manager around a run; after a stop, signals stay ignored because the process is ending."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._count = 0
        self._ended = False

    def asked(self) -> bool:
        return self._count > 0

    def on_event(self, event: ev.AnyEvent) -> None:
        """Told of every event: once the stop is in the journal there is nothing left to interrupt."""
        self._ended |= isinstance(event, ev.Stopped)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            self._announce("stopping after this step; Ctrl-C again stops at once")
        elif self._count == 2 and not self._ended:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self.asked() else handler)
