"""`verify` and `tune` as a person types them: exit codes, one JSON object, and the graph for LangGraph's own tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tilewright.cli.app import run
from tilewright.loop.studio import studio_graph
from tilewright_sandbox.boxes.bubblewrap import BubblewrapBox

SPEC = Path(__file__).parents[2] / "specs" / "relu_bias"
RIGHT = sorted((SPEC / "solutions" / "right").glob("*.py"))[0]
WRONG = {path.read_text().split()[3].rstrip(":"): path for path in (SPEC / "solutions" / "wrong").glob("*.py")}
BOX = ["--sandbox", "bubblewrap" if BubblewrapBox().probe().usable else "process"]
"""The box for a person's file: without one that isolates it has to be said aloud."""


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run([*arguments, "--json"])
    streams = capsys.readouterr()
    assert "Traceback" not in streams.err
    assert streams.out.count("\n") == 1
    return code, json.loads(streams.out)


def test_right_file_passes_with_exit_0_and_its_obstacles(capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = answer(capsys, "verify", str(SPEC), str(RIGHT), *BOX)
    assert (code, verdict["verdict"]) == (0, "measured"), verdict
    assert verdict["evidence"] == "interpreter + compiled for sm_90"
    assert {check["status"] for check in verdict["checks"]} <= {"PASS", "NOT_RUN"}
    assert verdict["obstacles"][0].startswith("no time was measured")


def test_wrong_file_is_rejected_with_exit_1_at_its_stage(capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = answer(capsys, "verify", str(SPEC), str(WRONG["capture"]), *BOX)
    assert (code, verdict["verdict"], verdict["stage"]) == (1, "rejected", "capture")
    assert verdict["message"]


def test_docker_is_refused_as_the_machines_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "verify", str(SPEC), str(RIGHT), "--sandbox", "docker")
    assert (code, found["error"]["kind"]) == (3, "machine")
    assert "bubblewrap" in found["error"]["fix"]


def test_tune_tells_every_trial_and_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "tune", str(SPEC), str(RIGHT), "--trials", "2", *BOX)
    assert code == 0
    assert found["built"] == 2
    timed = [trial for trial in found["trials"] if trial["value_us"] is not None]
    assert found["best"] in [trial["config"] for trial in timed]
    assert found["value_us"] == min(trial["value_us"] for trial in timed)


def test_graph_has_the_ten_nodes_and_needs_no_run_to_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_RUNS", str(tmp_path))
    nodes = set(studio_graph({}).get_graph().nodes) - {"__start__", "__end__"}
    assert nodes == {
        "preflight", "propose", "build", "judge", "tune", "compare", "reflect", "decide", "review", "publish",
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == []
