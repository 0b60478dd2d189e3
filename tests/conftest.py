"""The corpora are large: a fixed tenth of each is judged unless TILEWRIGHT_ALL=1 asks for all of it."""

from __future__ import annotations

import hashlib
import os

import pytest

CORPORA = (
    "test_a_cheat_is_stopped_at_its_stage",
    "test_a_cheat_that_only_a_device_shows",
    "test_honest_kernel_is_measured",
    "test_mutant",
)
SHARE = 10


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)  # a long one at the end keeps one worker alone
    if os.environ.get("TILEWRIGHT_ALL") == "1":
        return
    skip = pytest.mark.skip(reason="a tenth of the corpus is judged; TILEWRIGHT_ALL=1 judges the rest too")
    for item in items:
        name = item.name.partition("[")[0]
        if "[" in item.name and name.startswith(CORPORA) and _place(item.name) % SHARE:
            item.add_marker(skip)


def _place(name: str) -> int:
    return hashlib.sha256(name.encode()).digest()[0]
