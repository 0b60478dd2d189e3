"""Temporary folders that go away with the process that made them, a killed one included: the next one sweeps."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PREFIX = "tilewright-box-"
GRACE_S = 60.0
"""A folder younger than this may not be locked yet."""


def make_private_folder() -> tuple[str, Callable[[], None]]:
    """A new folder under the system's temporary one, and what removes it. Folders of dead owners are removed too."""
    _sweep(Path(tempfile.gettempdir()))
    folder = tempfile.mkdtemp(prefix=PREFIX)
    lock = os.open(f"{folder}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel lets go of it when this process dies, however it dies

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        Path(f"{folder}.lock").unlink(missing_ok=True)
        os.close(lock)

    return folder, remove


def _sweep(parent: Path) -> None:
    for lock in parent.glob(f"{PREFIX}*.lock"):
        with contextlib.suppress(OSError):
            if time.time() - lock.stat().st_mtime < GRACE_S:
                continue
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink()
            finally:
                os.close(descriptor)
