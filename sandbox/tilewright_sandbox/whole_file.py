"""Files that are there whole or not at all, whoever else writes them meanwhile and whenever this one is killed."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(path: Path, data: bytes, *, replace: bool = True) -> bool:
    """Write all of a file, on the disk. Without `replace` the first writer wins; whether it was this one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with partial.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if replace:
            partial.replace(path)
            return True
        try:
            os.link(partial, path)
        except FileExistsError:
            return False
        return True
    finally:
        partial.unlink(missing_ok=True)
