"""`journal.jsonl`: append-only, one event a line, on the disk before the next step begins.

An event counts when its line, newline included, is complete: what a crash left half-written is set aside when the
journal is next opened for writing, and skipped by readers. One process writes at a time; the lock ends with it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from .events import ADAPTER, AnyEvent, Event

FILE = "journal.jsonl"
E = TypeVar("E", bound=Event)


class JournalError(Exception):
    """The journal cannot be read or written: what, where, and how to mend it."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what} — {fix}" if fix else what)
        self.what, self.fix = what, fix


def _parse(path: Path, data: bytes) -> Iterator[AnyEvent]:
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            event = ADAPTER.validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise JournalError(
                f"{path}:{number}: not an event of this version ({where + ': ' if where else ''}{first['msg']})",
                "read it with the Tilewright that wrote it, or start a new run",
            ) from error
        if event.seq != number - 1:
            raise JournalError(
                f"{path}:{number}: event {event.seq} stands where event {number - 1} belongs",
                "the file was edited or lost lines; start a new run",
            )
        yield event


def _complete(data: bytes) -> int:
    """Length in bytes of the complete lines."""
    return data.rfind(b"\n") + 1


def read_journal(run_path: Path) -> list[AnyEvent]:
    """Every complete event, in order; safe while another process writes. JournalError if there is no journal."""
    path = run_path / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(
            f"{path}: {error.strerror}", "give the folder of a run; `tilewright runs` lists them"
        ) from error
    return list(_parse(path, data[: _complete(data)]))


def is_at_work(run_path: Path) -> bool:
    """Whether a process holds the run's journal."""
    with (run_path / FILE).open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class Journal:
    """The one writer of a run. Use as a context manager."""

    def __init__(self, run_path: Path) -> None:
        """Open or create, lock, and set a torn last line aside. JournalError if another process holds the lock."""
        self.run_path = run_path
        self.path = run_path / FILE
        created = not self.path.exists()
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._fd)
            raise JournalError(f"{run_path.name} is at work in another process", "wait for it, or stop it") from error
        try:
            self.torn_bytes = self._set_torn_line_aside()
            self.events: list[AnyEvent] = list(_parse(self.path, self.path.read_bytes()))
        except BaseException:
            os.close(self._fd)
            raise
        if created:
            _sync_folder(run_path)

    def _set_torn_line_aside(self) -> int:
        data = self.path.read_bytes()
        keep = _complete(data)
        if torn := data[keep:]:
            number = sum(1 for _ in self.run_path.glob("torn-*"))
            (self.run_path / f"torn-{number}").write_bytes(torn)
            os.ftruncate(self._fd, keep)
            os.fsync(self._fd)
        return len(torn)

    def append(self, event: E) -> E:
        """Stamp, write, fsync; the event as it was written."""
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        stamped = event.model_copy(update={"seq": len(self.events), "at": stamp})
        line = stamped.model_dump_json().encode() + b"\n"
        written = os.write(self._fd, line)
        if written != len(line):
            raise JournalError(
                f"{self.path}: wrote {written} of {len(line)} bytes", "free disk space, then resume the run"
            )
        os.fsync(self._fd)
        # Checked when read back: an event that this class writes is one of AnyEvent.
        self.events.append(stamped)  # type: ignore[arg-type]
        return stamped

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
