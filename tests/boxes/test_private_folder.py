"""Private folders are removed by their owner, and by the next process where the owner was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tilewright_sandbox.boxes.private_folder import GRACE_S, make_private_folder

OWNER = """
import tempfile, time
tempfile.tempdir = {folder!r}
from tilewright_sandbox.boxes.private_folder import make_private_folder
print(make_private_folder()[0], flush=True)
time.sleep(60)
"""


def age(folder: Path) -> None:
    for path in folder.iterdir():
        os.utime(path, (time.time() - 2 * GRACE_S,) * 2)


def test_the_owner_removes_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder, remove = make_private_folder()
    (Path(folder) / "cache").mkdir()
    remove()
    assert not list(tmp_path.iterdir())


def test_only_a_dead_owners_folder_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = [sys.executable, "-I", "-c", OWNER.format(folder=str(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        theirs = Path(owner.stdout.readline().strip())
        age(tmp_path)
        make_private_folder()[1]()
        assert theirs.is_dir(), "the owner lives"
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        make_private_folder()[1]()
    assert not list(tmp_path.iterdir())
