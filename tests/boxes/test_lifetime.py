"""A worker whose parent is gone ends at once, even if the parent died before the worker could ask for a signal."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tilewright_sandbox.lifetime import PARENT

SERVICES = {
    "judge": ("-I", "-m", "tilewright_sandbox.judge"),
    "builder": ("-I", "-m", "tilewright_sandbox.builder", "build"),
}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_whose_parent_died_first_ends_before_it_imports_torch(service: str) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    begun = time.monotonic()
    orphan = subprocess.run(
        [sys.executable, *SERVICES[service]], env={**os.environ, PARENT: str(gone.pid)}, capture_output=True,
        stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    assert orphan.returncode == 1
    assert orphan.stdout == b""
    assert time.monotonic() - begun < 15


def test_a_service_whose_parent_lives_goes_on() -> None:
    environment = {**os.environ, PARENT: str(os.getpid())}
    served = subprocess.run(
        [sys.executable, *SERVICES["judge"]],
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert served.returncode == 0  # the end of its stdin
