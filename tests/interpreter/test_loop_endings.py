"""How a run ends early: a spec that is refused, a reference that nobody can write, Ctrl-C, a spent budget."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tilewright.cli.app import run
from tilewright.loop.folder import list_runs
from tilewright.loop.journal import JournalError, read_journal
from tilewright.loop.view import fold
from tilewright_sandbox.boxes.framed_process import MARK

SPEC = Path(__file__).parents[2] / "specs" / "relu_bias"

TOML = """
schema = 1
name = "{name}"
summary = "a spec for a test"
op = "{name}"
[axes]
rows = {{ min = 1, max = 4096 }}
cols = {{ min = 8, max = 1024 }}
[inputs]
x = {{ shape = ["rows", "cols"], dtype = "float32" }}
[outputs]
y = {{ shape = ["rows", "cols"], dtype = "float32" }}
[[workloads]]
role = "tune"
axes = {{ rows = 256, cols = 512 }}
[[workloads]]
role = "bench"
axes = {{ rows = 512, cols = 1024 }}
"""


def write_spec(folder: Path, body: str) -> Path:
    folder.mkdir()
    (folder / "spec.toml").write_text(TOML.format(name=folder.name))
    (folder / "reference.py").write_text(
        "from __future__ import annotations\n\nimport torch\nfrom torch import Tensor\n\n\n"
        f"def reference(x: Tensor) -> Tensor:\n    {body}\n"
    )
    return folder


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run([*arguments, "--json"])
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return code, json.loads(out)


def test_weak_spec_is_refused_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_spec(tmp_path / "nothing", "return x * 0.0")
    code, found = answer(capsys, "optimize", str(spec))
    assert (code, found["status"], found["candidate"], found["candidates"]) == (2, "refused", None, 0)
    assert "failed its audit" in found["reason"]
    code, found = answer(capsys, "spec", "check", str(spec))
    assert (code, found["sound"]) == (2, False)
    assert [f["message"] for f in found["findings"] if f["status"] == "FAIL"]


def test_reference_that_no_template_covers_ends_exhausted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_spec(tmp_path / "sorted_rows", "return torch.sort(x, dim=-1).values")
    code, found = answer(capsys, "optimize", str(spec))
    assert (code, found["status"], found["speedup"]) == (1, "exhausted", None)
    assert "sort" in found["reason"]
    assert answer(capsys, "accept", "latest")[1]["obstacles"] == ["the run has no verified kernel (status: exhausted)"]


def test_spent_minutes_end_the_search_with_their_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "optimize", str(SPEC), "--budget-minutes", "0.01")
    assert (code, found["status"]) == (1, "exhausted")
    assert "--budget-minutes spent" in found["reason"]


def wait_for(runs: Path, kind: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if any(event.kind == kind for path in list_runs(runs) for event in read_journal(path)):
                return
        except JournalError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"no {kind} event: {process.poll()}")


def alive(agent: int) -> list[int]:
    mark, found = f"{MARK}=/{agent}-".encode(), []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(runs: Path, presses: int) -> None:
    command = [sys.executable, "-m", "tilewright", "optimize", str(SPEC), "--rounds", "1", "--trials", "3", "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(runs, "proposed", process)
    time.sleep(1.0)  # now it builds
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    if presses == 2:
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    took_s = time.monotonic() - begun
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert out.count("\n") == 1
    found = json.loads(out)
    assert (found["status"], found["reason"]) == ("stopped", "interrupted")
    assert f"tilewright resume {found['run']}" in err
    view = fold(read_journal(list_runs(runs)[0]))
    assert view.stopped is not None
    assert alive(process.pid) == []
    if presses == 2:
        assert took_s < 5
