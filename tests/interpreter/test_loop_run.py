"""One whole run through the real graph, boxes and judge, and everything a person may do with it afterwards."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tilewright.cli.app import run
from tilewright.loop.folder import CHECKPOINT, list_runs
from tilewright.loop.journal import FILE, Journal, read_journal
from tilewright.loop.view import fold

SPECS = Path(__file__).parents[2] / "specs"
SPEC = SPECS / "relu_bias"
FAST = ["--rounds", "1", "--trials", "4"]


class Shell:
    """Runs commands in this process and keeps what they printed."""

    def __init__(self, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.runs, self._capsys = runs, capsys
        monkeypatch.setenv("TILEWRIGHT_RUNS", str(runs))

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = run(list(arguments))
        streams = self._capsys.readouterr()
        assert "Traceback" not in streams.out + streams.err
        return code, streams.out, streams.err

    def json(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        code, out, _ = self(*arguments, "--json")
        assert out.count("\n") == 1, out
        return code, json.loads(out)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, dict[str, Any], str]:
    """The runs folder with one run that waits for its review; exit code, JSON answer, progress."""
    root = tmp_path_factory.mktemp("loop") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_RUNS", str(root))
        import contextlib
        import io

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(["optimize", str(SPEC), *FAST, "--json"])
    assert out.getvalue().count("\n") == 1, (out.getvalue(), err.getvalue())
    return root, code, json.loads(out.getvalue()), err.getvalue()


@pytest.fixture
def shell(
    finished: tuple[Path, int, dict[str, Any], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shell:
    """A shell on a copy of the finished run."""
    shutil.copytree(finished[0], tmp_path / "runs")
    return Shell(tmp_path / "runs", monkeypatch, capsys)


def only_run(shell: Shell) -> Path:
    (path,) = list_runs(shell.runs)
    return path


def kinds(path: Path) -> Counter[str]:
    return Counter(event.kind for event in read_journal(path))


def test_optimize_ends_with_a_verified_kernel(finished: tuple[Path, int, dict[str, Any], str]) -> None:
    root, code, answer, progress = finished
    assert (code, answer["status"], answer["awaits_review"]) == (0, "verified", True), (answer, progress)
    assert answer["evidence"] == "interpreter + compiled for sm_90"
    assert answer["speedup"] is None
    assert answer["modelled_us"] >= answer["roofline_modelled_us"] > 0
    (path,) = list_runs(root)
    assert path.name == answer["run"]
    view = fold(read_journal(path))
    assert view.best is not None
    assert (path / "candidates" / f"{answer['candidate']}.py").read_text() == view.best.candidate.source
    assert set(answer["config"]) == set(view.best.candidate.space)
    assert view.best_verdict is not None
    assert view.best_verdict.config.root == answer["config"]
    assert Path(answer["report"]).is_file()


def test_order_of_stages_and_no_more_than_three_finalists(finished: tuple[Path, int, dict[str, Any], str]) -> None:
    (path,) = list_runs(finished[0])
    order = [event.kind for event in read_journal(path)]
    first = [kind for index, kind in enumerate(order) if kind not in order[:index]]
    assert first == [
        "run_started", "audited", "traced", "preflight", "proposed", "built", "judged", "trial", "tuned", "compared",
        "reflected", "decided", "review_requested",
    ]  # fmt: skip
    assert 1 <= order.count("tuned") <= 3
    view = fold(read_journal(path))
    screened = [c for c in view.candidates.values() if c.judged("screen")]
    assert sum(c.tuned is not None for c in screened) == min(3, len([c for c in screened if c.rejected is None]))
    tuned = [c.tuned.value_us for c in screened if c.tuned]
    assert view.best_compared is not None
    assert view.best_compared.modelled_us == min(tuned)
    assert all(len(c.trials) <= 4 for c in screened)


def test_no_time_is_shown_without_saying_how_it_was_got(
    shell: Shell, finished: tuple[Path, int, dict[str, Any], str]
) -> None:
    pages = [finished[3]]
    pages += [shell(*command)[1] for command in (("runs",), ("review", "latest", "--show"))]
    for page in pages:
        timed = [line for line in page.splitlines() if re.search(r"\d µs", line)]
        assert timed
        assert all("modelled" in line for line in timed)


def test_runs_and_report(shell: Shell) -> None:
    (shell.runs / "20200101T000000Z-broken-0000").mkdir()
    (shell.runs / "20200101T000000Z-broken-0000" / FILE).write_text("{}\n")
    code, answer = shell.json("runs")
    assert code == 0
    assert [row["status"] for row in answer["runs"]] == ["unreadable", "awaiting review"]
    assert ":1:" in answer["runs"][0]["reason"]
    code, answer = shell.json("report", "latest")
    assert code == 0
    assert "<html" in Path(answer["report"]).read_text()
    assert shell("report", "2020")[0] == 2


def test_resume_of_a_run_that_waits_does_nothing_again(shell: Shell) -> None:
    before = kinds(only_run(shell))
    code, answer = shell.json("resume", only_run(shell).name[:12])
    assert (code, answer["status"], answer["awaits_review"]) == (0, "verified", True)
    assert kinds(only_run(shell)) - before == Counter({"resumed": 1})


@pytest.mark.parametrize("damage", ["gone", "garbage"])
def test_journal_suffices_without_the_checkpoint(shell: Shell, damage: str) -> None:
    path = only_run(shell)
    before = kinds(path)
    (path / CHECKPOINT).unlink()
    if damage == "garbage":
        (path / CHECKPOINT).write_bytes(b"not a database" * 1000)
    code, answer = shell.json("review", "latest", "--approve")
    assert (code, answer["status"], answer["awaits_review"]) == (0, "verified", False)
    assert kinds(path) - before == Counter({"resumed": 1, "reviewed": 1, "published": 1})
    assert fold(read_journal(path)).status == "verified"


def test_send_back_steers_a_further_round(shell: Shell) -> None:
    path = only_run(shell)
    best = fold(read_journal(path)).best
    code, answer = shell.json("review", "latest", "--send-back", "a shorter kernel, please")
    assert (code, answer["status"], answer["awaits_review"]) == (0, "verified", True)
    view = fold(read_journal(path))
    assert [d.round for d in view.decided] == [1, 2]
    assert view.note == "a shorter kernel, please"
    assert view.best is not None
    assert best is not None
    proposed = [c.id for p in view.proposals for c in p.candidates]
    assert len(proposed) == len(set(proposed))
    assert shell.json("review", "latest", "--stop")[1]["status"] == "stopped"


def test_reject_ends_the_run_and_needs_a_reason(shell: Shell) -> None:
    assert shell("reject", "latest", "--reason", " ")[0] == 2
    code, answer = shell.json("reject", "latest", "--reason", "not worth its length")
    assert (code, answer["status"]) == (0, "no_win")
    assert "not worth its length" in answer["reason"]
    code, _, err = shell("review", "latest", "--approve")
    assert code == 2
    assert "does not wait for a review" in err
    path = only_run(shell)
    before = kinds(path)
    assert shell.json("resume", "latest")[0] == 0
    assert kinds(path) == before


def test_accept_is_refused_with_every_reason(shell: Shell) -> None:
    path = only_run(shell)
    code, answer = shell.json("accept", "latest")
    assert (code, answer["accepted"]) == (1, False)
    assert "no time was measured (evidence: interpreter + compiled for sm_90)" in answer["obstacles"]
    assert any(obstacle.startswith("physics was not run") for obstacle in answer["obstacles"])
    assert not (SPEC / "accepted").exists()
    assert kinds(path)["acceptance_refused"] == 1
    stored = path / "candidates" / f"{answer['candidate']}.py"
    stored.write_text(stored.read_text() + "# changed\n")
    assert any("is not the source that was verified" in o for o in shell.json("accept", "latest")[1]["obstacles"])
    assert shell.json("review", "latest")[1]["awaits_review"]


def test_run_at_work_elsewhere_is_left_alone(shell: Shell) -> None:
    with Journal(only_run(shell)):
        code, _, err = shell("resume", "latest")
    assert code == 2
    assert "at work in another process" in err


def test_changed_spec_is_not_resumed(shell: Shell, tmp_path: Path) -> None:
    shutil.copytree(SPEC, tmp_path / "relu_bias")
    path = only_run(shell)
    journal = (path / FILE).read_text().splitlines()
    first = json.loads(journal[0])
    first["run"]["spec_path"] = str(tmp_path / "relu_bias")
    (path / FILE).write_text("\n".join([json.dumps(first), *journal[1:]]) + "\n")
    reference = tmp_path / "relu_bias" / "reference.py"
    reference.write_text(reference.read_text() + "\n# changed\n")
    code, _, err = shell("review", "latest", "--approve")
    assert code == 2
    assert "the spec has changed since" in err
    assert any("has changed since the run" in o for o in shell.json("accept", "latest")[1]["obstacles"])
