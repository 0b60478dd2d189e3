"""A run's folder: its name, its parts, and how a person's word for it is found."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from .journal import FILE, JournalError

BLOBS, CANDIDATES, CHECKPOINT, TIMING = "blobs", "candidates", "checkpoint.sqlite", "timing"


def runs_root() -> Path:
    """`$TILEWRIGHT_RUNS`, or `runs` in the working folder."""
    return Path(os.environ.get("TILEWRIGHT_RUNS", "runs"))


def new_run_id(spec_name: str) -> str:
    """`<utc>-<spec>-<4hex>`."""
    return f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}-{spec_name}-{secrets.token_hex(2)}"


@contextmanager
def new_run_folder(root: Path, run_id: str) -> Iterator[Path]:
    """A hidden folder with a run's subfolders; it gets its name when the body is done, so that no run is half begun.

    JournalError where it cannot be made.
    """
    path, hidden = root / run_id, root / f".{run_id}"
    try:
        hidden.mkdir(parents=True)
        (hidden / BLOBS).mkdir()
        (hidden / CANDIDATES).mkdir()
    except OSError as error:
        raise JournalError(
            f"cannot create {path}: {error.strerror}", "set TILEWRIGHT_RUNS to a writable folder"
        ) from error
    yield hidden
    hidden.rename(path)


def list_runs(root: Path) -> list[Path]:
    """Folders that hold a journal, oldest first."""
    return sorted((entry.parent for entry in root.glob(f"[!.]*/{FILE}")), key=lambda path: path.name)


def find_run(word: str, root: Path | None = None) -> Path:
    """A path, an id, a unique part of an id's beginning, or `latest`. JournalError says what else there is."""
    root = runs_root() if root is None else root
    if (Path(word) / FILE).is_file():
        return Path(word)
    runs = list_runs(root)
    if not runs:
        raise JournalError(f"there is no run in {root}/", "start one with `tilewright optimize SPEC`")
    if word == "latest":
        return runs[-1]
    if exact := [run for run in runs if run.name == word]:
        return exact[0]
    matching = [run for run in runs if run.name.startswith(word)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise JournalError(f"{word!r} is the beginning of {len(matching)} runs", f"say more of it: {_names(matching)}")
    raise JournalError(f"no run is called {word!r} in {root}/", f"the latest are: {_names(runs)}")


def _names(runs: list[Path]) -> str:
    return ", ".join(run.name for run in runs[-3:])
