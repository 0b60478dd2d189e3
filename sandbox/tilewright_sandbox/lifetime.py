"""A process that ends with the one that started it, whatever it is doing then."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
PARENT = "TILEWRIGHT_PARENT"
"""Environment variable with the process id of whoever started this one; absent in a process namespace of its own."""


def end_with_parent(parent: int | None = None) -> None:
    """Linux: SIGKILL when the thread that started this process ends. A busy worker would not notice a closed pipe.

    A parent that died before this call sends no signal any more, so its id is compared too: `parent`, or the one that
    the environment names.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    named = os.environ.get(PARENT, "")
    expected = parent if parent is not None else int(named) if named.isdigit() else None
    if expected is not None and os.getppid() != expected:
        os._exit(1)
