"""A defect of a spec, and where in the file it stands."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_HEADER = re.compile(r"""\s*\[\s*([\w\-."' ]+?)\s*\]\s*(#.*)?$""")
_ARRAY_HEADER = re.compile(r"""\s*\[\[\s*([\w\-."' ]+?)\s*\]\]\s*(#.*)?$""")
_KEY = re.compile(r"""\s*((?:[\w\-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w\-]+|"[^"]*"|'[^']*'))*)\s*=""")
_FENCES = ('"""', "'''")


class SpecError(Exception):
    """A defect of a spec: what, where and how to mend it. Printed as `file:line: message — fix`."""

    def __init__(self, message: str, file: Path | str = "", line: int | None = None, fix: str = "") -> None:
        self.message, self.file, self.line, self.fix = message, str(file), line, fix
        place = _shortened(self.file)
        where = f"{place}:{line}" if line else place
        super().__init__((f"{where}: " if where else "") + message + (f" — {fix}" if fix else ""))


def _shortened(file: str) -> str:
    """A path under the working directory, relative to it."""
    path = Path(file)
    return (
        str(path.relative_to(Path.cwd())) if file and path.is_absolute() and path.is_relative_to(Path.cwd()) else file
    )


@dataclass(frozen=True)
class Lines:
    """Where each table and key of a TOML text stands. Values are read by tomllib; only places are found here."""

    of: dict[tuple[str | int, ...], int] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Lines:
        of: dict[tuple[str | int, ...], int] = {}
        table: tuple[str | int, ...] = ()
        counts: dict[str, int] = {}
        fence = ""
        for number, line in enumerate(text.splitlines(), 1):
            if fence:
                fence = "" if fence in line else fence
                continue
            if header := _ARRAY_HEADER.match(line):
                name = header[1]
                table = (name, counts.get(name, 0))
                counts[name] = counts.get(name, 0) + 1
                of[table] = number
            elif header := _HEADER.match(line):
                table = _parts(header[1])
                of.setdefault(table, number)
            elif key := _KEY.match(line):
                path = (*table, *_parts(key[1]))
                for length in range(len(table) + 1, len(path) + 1):
                    of.setdefault(path[:length], number)
                fence = next((f for f in _FENCES if line.count(f) % 2), "")
        return cls(of)

    def at(self, *path: str | int) -> int | None:
        """Line of the path, or of the nearest table or key that encloses it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.of:
                return self.of[path[:length]]
        return None


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def nearest(word: str, words: Iterable[str]) -> str:
    """`did you mean "x"?`, or the list of what is allowed."""
    known = sorted(words)
    close = difflib.get_close_matches(word, known, 1, 0.6)
    return f'did you mean "{close[0]}"?' if close else "use one of: " + ", ".join(known)
