"""The agent's end of the judge: it survives a judge that dies, is late or talks nonsense, and hands it no keys."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from tilewright.judge import JudgeProcess
from tilewright_sandbox.contract import SandboxUnavailable
from tilewright_sandbox.jobs import AuditReport, AuditRequest, JudgeError

PRELUDE = """
import json, os, sys, time
from pathlib import Path
from tilewright_sandbox import wire
from tilewright_sandbox.jobs import JudgeError
COUNT = Path("COUNTER")
COUNT.write_text(COUNT.read_text() + "x") if COUNT.exists() else COUNT.write_text("x")
def reply(text):
    body = JudgeError(cause="internal", message=text).model_dump_json().encode()
    sys.stdout.buffer.write(wire.pack(body)); sys.stdout.buffer.flush()
while True:
    wire.unpack(sys.stdin.buffer)
"""
REQUEST = AuditRequest(spec_path="nowhere")


def judge_that(does: str, counter: Path) -> JudgeProcess:
    return JudgeProcess(("-I", "-c", PRELUDE.replace("COUNTER", str(counter)) + "    " + does))


def starts(counter: Path) -> int:
    return len(counter.read_text())


def test_one_process_serves_many_requests(tmp_path: Path) -> None:
    with judge_that("reply(str(os.getpid()))", tmp_path / "n") as judge:
        first, second = judge.request(REQUEST), judge.request(REQUEST)
    assert isinstance(first, JudgeError)
    assert first == second
    assert starts(tmp_path / "n") == 1


def test_a_judge_that_dies_is_started_once_more(tmp_path: Path) -> None:
    dies_once = "reply('alive') if len(COUNT.read_text()) > 1 else os._exit(5)"
    with judge_that(dies_once, tmp_path / "n") as judge:
        reply = judge.request(REQUEST)
    assert isinstance(reply, JudgeError)
    assert (reply.message, starts(tmp_path / "n")) == ("alive", 2)


def test_a_judge_that_keeps_dying_is_the_machines_failure(tmp_path: Path) -> None:
    dies = judge_that("sys.exit('no module named torch')", tmp_path / "n")
    with dies as judge, pytest.raises(SandboxUnavailable, match="no module named torch"):
        judge.request(REQUEST)
    assert starts(tmp_path / "n") == 2


def test_a_late_judge_is_ended_and_not_asked_again(tmp_path: Path) -> None:
    late = judge_that("time.sleep(60)", tmp_path / "n")
    with late as judge, pytest.raises(SandboxUnavailable, match="within 1 s"):
        judge.request(REQUEST, timeout_s=1)
    assert starts(tmp_path / "n") == 1


def test_an_unreadable_answer_is_the_machines_failure(tmp_path: Path) -> None:
    nonsense = "sys.stdout.buffer.write(wire.pack(b'{}')); sys.stdout.buffer.flush()"
    with judge_that(nonsense, tmp_path / "n") as judge, pytest.raises(SandboxUnavailable, match="cannot be read"):
        judge.request(REQUEST)


def test_the_judge_gets_no_keys_and_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    with judge_that("reply(json.dumps(dict(os.environ)))", tmp_path / "n") as judge:
        reply = judge.request(REQUEST)
        assert list((tmp_path / "tmp").iterdir())
    assert isinstance(reply, JudgeError)
    environment = json.loads(reply.message)
    assert environment["CUDA_VISIBLE_DEVICES"] == "0"
    assert "secret" not in environment.values()
    assert not list((tmp_path / "tmp").iterdir())


def test_relative_paths_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with judge_that("reply(os.getcwd())", tmp_path / "n") as judge:
        reply = judge.request(REQUEST)
    assert isinstance(reply, JudgeError)
    assert reply.message == str(tmp_path)


def test_the_real_judge_answers(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with JudgeProcess() as judge:
        reply = judge.request(AuditRequest(spec_path=str(tmp_path / "nowhere")), timeout_s=120)
    assert not isinstance(reply, AuditReport)
    assert isinstance(reply, JudgeError)
    assert reply.cause == "spec"
