"""What candidate code may not do to the process it runs in. Active only while candidate code runs.

A refusal is remembered, so a launcher that swallows it and carries on is refused all the same.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from ..contract import Stage
from .refusal import Refusal
from .source import FILENAME, here

_WRITES = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND
_EVENTS: dict[str, tuple[str, str]] = {
    "subprocess.": ("process_not_allowed", "starts a program"),
    "os.system": ("process_not_allowed", "starts a program"),
    "os.exec": ("process_not_allowed", "replaces the process"),
    "os.posix_spawn": ("process_not_allowed", "starts a program"),
    "os.spawn": ("process_not_allowed", "starts a program"),
    "os.fork": ("process_not_allowed", "forks"),
    "os.kill": ("process_not_allowed", "sends a signal"),
    "pty.": ("process_not_allowed", "starts a program"),
    "socket.": ("network_not_allowed", "opens a socket"),
    "ctypes.": ("foreign_code_not_allowed", "calls foreign code through ctypes"),
    "os.putenv": ("environment_not_allowed", "changes the environment"),
    "os.unsetenv": ("environment_not_allowed", "changes the environment"),
    "os.remove": ("file_not_allowed", "removes a file"),
    "os.rename": ("file_not_allowed", "renames a file"),
    "os.link": ("file_not_allowed", "links a file"),
    "os.symlink": ("file_not_allowed", "links a file"),
    "os.mkdir": ("file_not_allowed", "makes a folder"),
    "os.rmdir": ("file_not_allowed", "removes a folder"),
    "os.chmod": ("file_not_allowed", "changes a file's mode"),
    "os.truncate": ("file_not_allowed", "truncates a file"),
    "shutil.": ("file_not_allowed", "changes files"),
    "sys.settrace": ("introspection_not_allowed", "traces frames"),
    "sys.setprofile": ("introspection_not_allowed", "traces frames"),
}
_LOOKS: dict[str, str] = {
    "object.__getattr__": "reads {1!r} of a {0}",
    "object.__setattr__": "sets {1!r} of a {0}",
    "object.__delattr__": "deletes {1!r} of a {0}",
    "sys._getframe": "walks frames",
    "gc.get_objects": "searches the collector",
    "gc.get_referrers": "searches the collector",
    "gc.get_referents": "searches the collector",
    "code.__new__": "makes code",
    "function.__new__": "makes a function from code",
    "exec": "executes code",
    "marshal.loads": "loads code",
    "pickle.find_class": "unpickles code",
}
"""What libraries do all the time and a launcher never does itself: refused where candidate code is the direct caller.
The interpreter tells of `__code__`, `__globals__`, `tb_frame` and their like however their names are spelled."""


class Watch:
    """The first refusal of one job, kept whether or not the candidate swallowed it."""

    def __init__(self) -> None:
        self.first: Refusal | None = None
        self.active = False

    def refuse(self, stage: Stage, code: str, message: str, **evidence: bool | int | float | str) -> NoReturn:
        refusal = Refusal(stage, code, message, **evidence)
        self.note(refusal)
        raise refusal

    def note(self, refusal: Refusal) -> None:
        if self.first is None:
            self.first = refusal

    @contextmanager
    def candidate_code(self) -> Iterator[None]:
        """The guard holds inside this block."""
        before, self.active = self.active, True
        try:
            yield
        finally:
            self.active = before

    @contextmanager
    def own_code(self) -> Iterator[None]:
        """Inside candidate code, a stretch of the builder's own."""
        before, self.active = self.active, False
        try:
            yield
        finally:
            self.active = before


def _writes(args: tuple[Any, ...]) -> bool:
    _, mode, flags = args
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITES)


def _importing() -> bool:
    """Whether a library that loads itself late is the cause, rather than the candidate's own call."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != FILENAME:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def install_guard(watch: Watch) -> None:
    """Add the audit hook and refuse new threads. Cannot be undone."""
    exact = {name: rule for name, rule in _EVENTS.items() if not name.endswith(".")}
    prefixes = {name: rule for name, rule in _EVENTS.items() if name.endswith(".")}

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not watch.active:
            return
        if event == "open":
            if _writes(args) and not _importing():
                watch.refuse("policy", "file_not_allowed", f"{here()} writes a file. A launcher only launches.")
            return
        if event in _LOOKS:
            with watch.own_code():  # to look at a frame is such an event itself
                direct = sys._getframe(1).f_code.co_filename == FILENAME
            if direct:
                what = _LOOKS[event].format(*[type(args[0]).__name__, *args[1:]] if args else [])
                watch.refuse("policy", "introspection_not_allowed", f"{here()} {what}. A launcher only launches.")
            return
        rule = exact.get(event) or prefixes.get(event.split(".")[0] + ".")
        if rule and not _importing():
            watch.refuse("policy", rule[0], f"{here()} {rule[1]}. A launcher only launches.")

    sys.addaudithook(hook)

    def refusing(start: Callable[..., Any]) -> Callable[..., Any]:
        def start_thread(*args: Any, **kwargs: Any) -> Any:
            if watch.active:
                watch.refuse("policy", "thread_not_allowed", f"{here()} starts a thread. A launcher runs in one.")
            return start(*args, **kwargs)

        return start_thread

    for module in (_thread, threading):  # no audit event before Python 3.12
        for name in ("start_new_thread", "start_new", "_start_new_thread", "start_joinable_thread"):
            if hasattr(module, name):
                setattr(module, name, refusing(getattr(module, name)))
