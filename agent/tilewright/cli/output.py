"""What a command leaves behind: one JSON object or a page for a person on stdout, everything else on stderr, a code."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

OK, REJECTED, USAGE, MACHINE, INTERRUPTED = 0, 1, 2, 3, 130

Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")]


class CommandError(Exception):
    """A mistake of the person's: what, where, how to mend it. Exit 2."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what} — {fix}" if fix else what)
        self.what, self.fix = what, fix


def finish(payload: dict[str, Any], page: Callable[[], None], *, as_json: bool, code: int = OK) -> NoReturn:
    """Print the JSON object or the page, and end with `code`."""
    if as_json:
        sys.stdout.write(json.dumps(payload, ensure_ascii=False, default=str) + "\n")
    else:
        page()
    sys.stdout.flush()
    raise typer.Exit(code)


def note(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def fail(kind: str, message: str, fix: str, code: int, *, as_json: bool) -> int:
    """One line on stderr and, where asked for, one JSON object on stdout."""
    note(f"{kind}: {message} — {fix}" if fix else f"{kind}: {message}")
    if as_json:
        error = {"kind": kind, "message": message, "fix": fix, "exit": code}
        sys.stdout.write(json.dumps({"error": error}, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    return code


def save_traceback() -> Path:
    """The current exception, in a file that can be sent with a bug report."""
    path = (
        Path(tempfile.gettempdir()) / f"tilewright-error-{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 10**6}.txt"
    )
    path.write_text(" ".join(sys.argv) + "\n\n" + traceback.format_exc())
    return path
