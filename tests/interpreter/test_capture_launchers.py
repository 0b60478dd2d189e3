"""Small launchers, each with what the capture must make of it: its Plan's steps, or stage and code of its refusal."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("triton")


def _expectations() -> ModuleType:
    path = Path(__file__).parents[1] / "launchers" / "expectations.py"
    spec = importlib.util.spec_from_file_location("launcher_expectations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


expectations = _expectations()


@pytest.mark.parametrize(("folder", "at_least"), [("captured", 40), ("refused", 60)])
def test_every_launcher_ends_as_it_says(folder: str, at_least: int) -> None:
    wrong = []
    launchers = expectations.launchers(folder)
    for launcher in launchers:
        reply, _ = expectations.build(launcher, compile=False)
        found = expectations.mismatch(launcher, reply)
        print(f"{launcher.name:50} {'ok ' if not found else 'NOT'} {expectations.outcome_text(reply)[:160]}")
        if found:
            wrong.append(f"{launcher.name}: {found}")
    assert not wrong, "\n".join(wrong)
    assert len(launchers) >= at_least
