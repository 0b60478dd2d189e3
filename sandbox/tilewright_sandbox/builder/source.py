"""Candidate source as a module under one virtual file name, so that nothing compiled from it depends on a path."""

from __future__ import annotations

import linecache
import sys
from types import CodeType, FrameType, ModuleType, TracebackType

FILENAME = "candidate.py"
MODULE = "candidate"


def load_candidate(source: str) -> ModuleType:
    """Execute the source as the module `candidate`. Whatever its top level raises, this raises.

    The source is kept in `linecache` under the file name `candidate.py`, where Triton's `inspect` finds it.
    """
    code: CodeType = compile(source, FILENAME, "exec", dont_inherit=True)
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(keepends=True), FILENAME)
    module = ModuleType(MODULE)
    module.__file__ = FILENAME
    sys.modules[MODULE] = module
    exec(code, module.__dict__)
    return module


def line_of_frame(frame: FrameType | None) -> int | None:
    """The line of the innermost frame that runs candidate code, from `frame` outwards."""
    while frame is not None:
        if frame.f_code.co_filename == FILENAME:
            return frame.f_lineno
        frame = frame.f_back
    return None


def line_of_traceback(traceback: TracebackType | None) -> int | None:
    """The innermost candidate line of a traceback."""
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == FILENAME:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def place(line: int | None) -> str:
    """`candidate.py:LINE`, or the file alone where no line is known."""
    return FILENAME if line is None else f"{FILENAME}:{line}"


def here() -> str:
    """Where in the candidate the current call came from."""
    return place(line_of_frame(sys._getframe(1)))
