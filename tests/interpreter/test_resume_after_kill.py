"""SIGKILL at random moments, then resume: the same kernels, configs, trials and decisions; nothing left alive."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / "benchmarks" / "kill_resume.py"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_three_kills_end_like_no_kill() -> None:
    command = [sys.executable, str(SCRIPT), "specs/relu_bias", "--kills", "3", "--trials", "3", "--seed", "5", "--json"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert found["differences"] == []
    assert len(found["kills"]) == 3
    assert any(kill["events"] > 1 for kill in found["kills"])


def test_the_comparison_can_fail() -> None:
    """A benchmark that finds every pair of runs equal would prove nothing."""
    spec = importlib.util.spec_from_file_location("kill_resume", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["kill_resume"] = module
    spec.loader.exec_module(module)
    one = {"candidates": {"a": {"tuned": ({"BLOCK": 64}, 1.0)}}, "decided": [(1, False, "verified", "done")]}
    assert module.differences(one, json.loads(json.dumps(one), object_pairs_hook=dict)) != []  # tuples are not lists
    assert module.differences(one, dict(one)) == []
    other = {**one, "candidates": {"a": {"tuned": ({"BLOCK": 128}, 1.0)}}}
    assert [text.split(":")[0] for text in module.differences(one, other)] == ["run.candidates.a.tuned"]
    assert len(module.differences(one, {})) == 2
