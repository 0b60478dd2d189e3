"""What a child, or the compiler inside it, said on stderr before it ended: the lines that tell why."""

from __future__ import annotations

import re

_TELLS = re.compile(
    r"Assertion|UNREACHABLE|cantFail|LLVM ERROR|Fatal Python error|terminate called|what\(\):|\berror: "
)
_SAYS_NOTHING = re.compile(r"Failures have been detected while processing|[\^~=\- ]*$")


def telling_lines(log: str, limit: int = 500) -> str:
    """The lines of a compiler's log that tell of an error, on one line; empty where none does."""
    return " ".join(line for line in _lines(log) if _TELLS.search(line))[:limit]


def last_words(log: str, limit: int = 500) -> str:
    """From the first line that tells of a crash on; else the end: what Python printed about an exception."""
    lines = _lines(log)
    first = next((place for place, line in enumerate(lines) if _TELLS.search(line)), None)
    return " ".join(lines)[-limit:] if first is None else " ".join(lines[first:])[:limit]


def _lines(log: str) -> list[str]:
    return [line for line in map(str.strip, log.splitlines()) if line and not _SAYS_NOTHING.match(line)]
