"""The command line: fast help, exit codes, one JSON object, one line for an error and never a traceback."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.cli.app import app, run

COMMANDS = sorted(
    [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    + ["spec new", "spec check", "spec list"]
)


def one_object(text: str) -> dict[str, object]:
    assert text.count("\n") == 1, text
    value = json.loads(text)
    assert isinstance(value, dict)
    return value


def test_help_answers_in_half_a_second_of_processor_time() -> None:
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "tilewright", "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert "optimize" in done.stdout
    assert min(times) < 0.5, times


def test_nothing_heavy_is_imported_at_start() -> None:
    code = "import sys, tilewright.cli.app; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "typer" in loaded
    assert not loaded & {"torch", "triton", "numpy", "langgraph", "optuna", "pydantic", "jinja2", "pygments", "sqlite3"}


def test_every_name_is_there_and_none_is_promised_too_early() -> None:
    names = [
        "accept",
        "bench",
        "doctor",
        "judge",
        "optimize",
        "reject",
        "report",
        "resume",
        "review",
        "runs",
        "selftest",
    ]
    assert sorted([*names, "spec check", "spec list", "spec new", "tune", "verify"]) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json_and_says_what_it_does(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command.split(), "--help"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--json" in text
    assert "JSON" in text.split("--json", 1)[1]


def test_no_arguments_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    streams = capsys.readouterr()
    assert "Commands" in streams.out + streams.err


MISTAKES = [
    ("nonsense", "No such command 'nonsense'"),
    ("optimize", "Missing argument 'SPEC'"),
    ("optimize softmax --ronds 3", "No such option: --ronds"),
    ("optimize softmax --rounds 0", "'--rounds'"),
    ("optimize softmax --budget-usd -1", "'--budget-usd'"),
    ("optimize softmax --sandbox cellar", "--sandbox cellar is no box — give auto, docker, bubblewrap or process"),
    ("optimize softmax --target sm_13", "--target sm_13 is not known; there are auto, sm_80"),
    ("optimize softmax --proposer oracle", "no proposer is named 'oracle'; there is: templates"),
    ("optimize sofmax", "did you mean softmax"),
    ("spec check nowhere/at/all", "there is no such spec"),
    ("verify softmax no_such_file.py", "no_such_file.py: No such file or directory — give the path"),
    ("verify softmax . --json", ".: Is a directory — give the path"),
    ("tune softmax kernel.py --trials 0", "'--trials'"),
    ("resume", "there is no run in"),
    ("report 2026", "there is no run in"),
    ("review latest --approve --stop", "more than one decision"),
    ("reject latest", "Missing option '--reason'"),
    ("accept latest", "there is no run in"),
]


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_mistakes_exit_2_with_one_line_that_says_what_and_how_to_mend(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILEWRIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(Path(__file__).parents[2])
    assert run([*line.split(), "--json"]) == 2
    streams = capsys.readouterr()
    assert message in streams.err
    assert streams.err.count("\n") == 1
    assert "Traceback" not in streams.err
    error = one_object(streams.out)["error"]
    assert isinstance(error, dict)
    assert message in f"{error['message']} — {error['fix']}"
    assert not (tmp_path / "runs").exists()


def test_a_defect_of_ours_is_one_line_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fall() -> None:
        raise RuntimeError("the sky is falling")

    monkeypatch.setattr("tilewright.doctor.examine", fall)
    assert run(["doctor", "--json"]) == 3
    streams = capsys.readouterr()
    error = one_object(streams.out)["error"]
    assert isinstance(error, dict)
    assert error["kind"] == "internal error"
    assert streams.err.count("\n") == 1
    assert "Traceback" not in streams.err
    details = Path(str(error["message"]).split("details in ")[1].rstrip(")"))
    assert "the sky is falling" in details.read_text()
    details.unlink()


def test_doctor_says_what_each_thing_enables(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["doctor", "--json"])
    answer = one_object(capsys.readouterr().out)
    findings = answer["findings"]
    assert isinstance(findings, list)
    assert {"python", "torch", "triton", "numpy", "box docker", "box bubblewrap", "box process", "GPU"} <= {
        finding["name"] for finding in findings
    }
    assert all(finding["enables"] for finding in findings)
    assert all(bool(finding["fix"]) != finding["ok"] for finding in findings)
    assert code == (0 if answer["usable"] else 3)


def test_new_spec_is_written_and_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["spec", "new", "my_op", "--into", str(tmp_path), "--json"]) == 0
    assert one_object(capsys.readouterr().out)["path"] == str(tmp_path / "my_op")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "spec.toml").write_text("name =\n")
    assert run(["spec", "list", str(tmp_path), "--json"]) == 0
    rows = one_object(capsys.readouterr().out)["specs"]
    assert isinstance(rows, list)
    assert [(row["name"], bool(row["error"])) for row in rows] == [("broken", True), ("my_op", False)]
    assert run(["spec", "new", "my_op", "--into", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
