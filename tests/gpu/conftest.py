"""Tests that need a CUDA device; where there is none they are skipped, each counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tilewright.judge import JudgeProcess


def device_target() -> str | None:
    """The architecture of this machine's device, or None."""
    import torch

    if not torch.cuda.is_available():
        return None
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


@pytest.fixture(scope="session")
def target() -> str:
    found = device_target()
    if found is None:
        pytest.skip("no CUDA device")
    return found


@pytest.fixture(scope="session")
def judge(target: str) -> Iterator[JudgeProcess]:
    with JudgeProcess() as process:
        yield process
