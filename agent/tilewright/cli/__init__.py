"""The command line. Nothing heavy is imported until a command needs it: `--help` answers in a fraction of a second."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry of the console script."""
    from .app import run

    sys.exit(run(sys.argv[1:]))
