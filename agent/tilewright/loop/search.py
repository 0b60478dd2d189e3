"""The live side of a run: open handles, the journal and its folded view. Nothing here is ever stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from tilewright.judge import Judge
from tilewright.propose import Proposer
from tilewright_sandbox.boxes import choose
from tilewright_sandbox.contract import Candidate, Plan
from tilewright_sandbox.spec import SpecFolder
from tilewright_sandbox.targets import Target
from tilewright_sandbox.whole_file import write_whole

from . import folder as run_folder
from .budget import Budget
from .events import AnyEvent, Event, Reserved, Settled
from .journal import Journal
from .view import RunView, advance

E = TypeVar("E", bound=Event)


class StopRequested(Exception):
    """The person asked to stop; raised between two steps."""


@dataclass
class Search:
    """One run at work in this process."""

    journal: Journal
    view: RunView
    spec_folder: SpecFolder
    judge: Judge
    proposers: Sequence[Proposer]
    target: Target
    stop_asked: Callable[[], bool] = lambda: False
    on_event: Callable[[AnyEvent, RunView], None] = field(default=lambda event, view: None)
    """Told of every event, with the view that has taken it in."""
    announce: Callable[[str], None] = field(default=lambda text: None)
    """Told what the next step is, for a person who watches."""

    longest_gpu_s: dict[str, float] = field(default_factory=dict)
    """Of the device's jobs in this session, by kind."""

    plans: dict[tuple[str, str], list[Plan]] = field(default_factory=dict)
    """Built by the tuner in this session and not yet raced, by candidate and config."""

    def __post_init__(self) -> None:
        self.budget = Budget(view=lambda: self.view, append=self._append_reservation)

    @property
    def on_device(self) -> bool:
        """Whether candidates run on a device, here or elsewhere; else under the interpreter."""
        return self.judge.on == "device"

    @property
    def box(self) -> str:
        """The name of the box that was chosen when the run began: `bubblewrap` or `process`."""
        return self.view.box

    @cached_property
    def box_label(self) -> str:
        return choose(self.box, trusted=True).label

    @property
    def path(self) -> Path:
        return self.journal.run_path

    @property
    def blobs_path(self) -> Path:
        return self.path.resolve() / run_folder.BLOBS

    def record(self, event: E) -> E:
        """Write an event, fold it in."""
        stamped = self.journal.append(event)
        advance(self.view, self.journal.events[-1])
        self.on_event(self.journal.events[-1], self.view)
        return stamped

    def _append_reservation(self, event: Reserved | Settled) -> None:
        self.record(event)

    def step(self, text: str) -> None:
        """Say what comes next; StopRequested where it should not."""
        if self.stop_asked():
            raise StopRequested
        self.announce(text)

    def store_source(self, candidate: Candidate) -> Path:
        path = self.path / run_folder.CANDIDATES / f"{candidate.id}.py"
        if not path.exists():
            write_whole(path, candidate.source.encode())
        return path
