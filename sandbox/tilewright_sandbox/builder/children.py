"""Forked children that each answer with one frame, a few at a time, with a hard time limit for each.

A child starts from the parent's warm imports, works in a private folder that is removed whatever happens, and is
killed with its whole process group when it is late. Nothing is pickled: it answers with `wire` frames.
"""

from __future__ import annotations

import faulthandler
import gc
import io
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .. import wire
from ..lifetime import end_with_parent

LOG_BYTES = 1 << 16
Answer = tuple[bytes, Mapping[str, bytes]]
Task = Callable[[Path], Answer]
"""Runs in the child, in the folder it is given, and returns the body and the blobs of its frame."""


@dataclass(frozen=True)
class Reply:
    status: Literal["replied", "timeout", "died"]
    seconds: float
    body: bytes = b""
    blobs: dict[str, bytes] = field(default_factory=dict)
    stderr: str = ""
    """The last 64 KiB that the child wrote to stdout and stderr; where it crashed, with the Python lines that ran."""
    signal: int = 0
    exit_code: int = 0

    @property
    def end(self) -> str:
        """How the child ended: a signal's name, or its exit code."""
        return signal.Signals(self.signal).name if self.signal else f"exit code {self.exit_code}"


@dataclass
class _Child:
    index: int
    pid: int
    pipe: int
    folder: Path
    started: float
    received: bytearray = field(default_factory=bytearray)


def run_children(tasks: Sequence[Task], timeouts_s: Sequence[float], workers: int) -> list[Reply]:
    """Run every task in a child of its own, at most `workers` at once. Replies are in the order of the tasks."""
    replies: dict[int, Reply] = {}
    waiting = list(enumerate(tasks))[::-1]
    running: dict[int, _Child] = {}
    gc.freeze()
    try:
        with selectors.DefaultSelector() as selector:
            while waiting or running:
                while waiting and len(running) < max(1, workers):
                    child = _start(*waiting.pop())
                    running[child.pipe] = child
                    selector.register(child.pipe, selectors.EVENT_READ)
                now = time.monotonic()
                soonest = min(child.started + timeouts_s[child.index] for child in running.values())
                for ready, _ in selector.select(max(0.0, soonest - now)):
                    child = running[ready.fd]
                    if chunk := os.read(child.pipe, 1 << 20):
                        child.received += chunk
                    else:
                        selector.unregister(running.pop(ready.fd).pipe)
                        replies[child.index] = _finish(child)
                for child in list(running.values()):
                    if time.monotonic() - child.started > timeouts_s[child.index]:
                        selector.unregister(running.pop(child.pipe).pipe)
                        replies[child.index] = _finish(child, late=True)
    finally:
        for child in running.values():
            _finish(child, late=True)
        gc.unfreeze()
    return [replies[index] for index in range(len(tasks))]


def _start(index: int, task: Task) -> _Child:
    folder = Path(tempfile.mkdtemp(prefix="tilewright-"))
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    started = time.monotonic()
    builder = os.getpid()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _enter(folder, writing, builder)
            body, blobs = task(folder)
            _write_all(writing, wire.pack(body, blobs))
            code = 0
        except BaseException:
            traceback.print_exc(limit=-3)
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.close(writing)
    return _Child(index, pid, reading, folder, started)


def _enter(folder: Path, pipe: int, parent: int) -> None:
    """Leave the parent's streams and files behind: only the pipe and a log stay open."""
    os.setsid()
    end_with_parent(parent)  # a new group outlives a killed parent otherwise
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    faulthandler.enable(2, all_threads=False)
    os.closerange(3, pipe)
    os.closerange(pipe + 1, 4096)
    os.chdir(folder)
    os.environ.update(TRITON_CACHE_DIR=str(folder / "cache"), TMPDIR=str(folder), TRITON_DISABLE_LINE_INFO="1")
    tempfile.tempdir = str(folder)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _write_all(pipe: int, frame: bytes) -> None:
    view = memoryview(frame)
    while view:
        view = view[os.write(pipe, view) :]


def _finish(child: _Child, late: bool = False) -> Reply:
    """Kill what is left of the child's group, take its answer, remove its folder."""
    os.close(child.pipe)
    try:
        if late:
            _kill_group(child.pid)
        _, status = os.waitpid(child.pid, 0)
        _kill_group(child.pid)
        seconds = time.monotonic() - child.started
        stderr = _log(child.folder / "log")
        if late:
            return Reply("timeout", seconds, stderr=stderr)
        try:
            body, blobs = wire.unpack(io.BytesIO(bytes(child.received)))
        except (EOFError, wire.FrameError):
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
            return Reply("died", seconds, stderr=stderr, signal=number, exit_code=code)
        return Reply("replied", seconds, body, blobs, stderr)
    finally:
        shutil.rmtree(child.folder, ignore_errors=True)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:  # the child had not yet made its group
        os.kill(pid, signal.SIGKILL)


def _log(path: Path) -> str:
    try:
        return path.read_bytes()[-LOG_BYTES:].decode(errors="replace")
    except OSError:
        return ""
