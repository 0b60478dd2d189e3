"""A folder of jobs as a queue: whole files, the first verdict wins, stale claims are void, no way out of the folder."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest

from tilewright_sandbox import job_files
from tilewright_sandbox.contract import Config, Rejected
from tilewright_sandbox.job_files import (
    CLAIM,
    JOB,
    VERDICT,
    claim,
    read_job,
    read_verdict,
    waiting,
    write_job,
)
from tilewright_sandbox.jobs import Judged, JudgeRequest
from tilewright_sandbox.spec import load_spec
from tilewright_sandbox.whole_file import write_whole

SOFTMAX = load_spec(Path(__file__).parents[2] / "specs/softmax")


def request(config: int = 1) -> JudgeRequest:
    return JudgeRequest(
        spec_path=str(SOFTMAX.path), source="", proposer="person", config=Config({"BLOCK": config}), plans=(),
        blobs_path="nowhere", target="sm_90", box="bubblewrap", on="device", shape_seed="00",
    )  # fmt: skip


def verdict(message: str) -> bytes:
    rejected = Rejected(candidate_id="0" * 16, stage="budget", code="wrong_values", message=message)
    return Judged(verdict=rejected, seconds=1.0).model_dump_json().encode()


def test_a_job_carries_its_spec_and_is_written_once(tmp_path: Path) -> None:
    name = write_job(tmp_path, request(), SOFTMAX)
    assert write_job(tmp_path, request(), SOFTMAX) == name
    assert waiting(tmp_path) == [name]
    back = read_job(tmp_path, name)
    assert load_spec(back.spec_path).spec.sha256 == SOFTMAX.spec.sha256
    assert Path(back.blobs_path) == (tmp_path / "blobs").resolve()


def test_a_folder_of_jobs_can_be_moved(tmp_path: Path) -> None:
    name = write_job(tmp_path / "here", request(), SOFTMAX)
    (tmp_path / "here").rename(tmp_path / "there")
    assert Path(read_job(tmp_path / "there", name).spec_path).is_relative_to(tmp_path / "there")


def test_jobs_come_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    names = []
    for number in range(5):
        names.append(write_job(tmp_path, request(number), SOFTMAX))
        os.utime(tmp_path / f"{names[-1]}{JOB}", ns=(number * 10**9, number * 10**9))
    assert waiting(tmp_path) == names


def test_the_first_verdict_counts(tmp_path: Path) -> None:
    name = write_job(tmp_path, request(), SOFTMAX)
    assert write_whole(tmp_path / f"{name}{VERDICT}", verdict("first"), replace=False)
    assert not write_whole(tmp_path / f"{name}{VERDICT}", verdict("second"), replace=False)
    answer = read_verdict(tmp_path, name)
    assert isinstance(answer, Judged)
    assert isinstance(answer.verdict, Rejected)
    assert answer.verdict.message == "first"
    assert waiting(tmp_path) == []


def test_half_a_verdict_is_none(tmp_path: Path) -> None:
    name = write_job(tmp_path, request(), SOFTMAX)
    (tmp_path / f"{name}{VERDICT}").write_bytes(verdict("whole")[:40])
    assert read_verdict(tmp_path, name) is None


def test_only_one_of_many_judges_gets_a_job(tmp_path: Path) -> None:
    for round_ in range(50):
        name = write_job(tmp_path, request(round_), SOFTMAX)
        together, all_asked, got = threading.Barrier(6), threading.Barrier(6), list[bool]()

        def judge(name: str, together: threading.Barrier, all_asked: threading.Barrier, got: list[bool]) -> None:
            together.wait(10)
            with claim(tmp_path, name) as ours:
                got.append(ours)
                all_asked.wait(10)

        judges = [threading.Thread(target=judge, args=(name, together, all_asked, got)) for _ in range(6)]
        for one in judges:
            one.start()
        for one in judges:
            one.join()
        assert sorted(got) == [False] * 5 + [True]
        assert not (tmp_path / f"{name}{CLAIM}").exists()


def test_threads_and_processes_that_write_one_file_leave_it_whole(tmp_path: Path) -> None:
    path, whole = tmp_path / "file", [bytes([number]) * 100_000 for number in range(4)]

    def write(data: bytes) -> None:
        for _ in range(25):
            write_whole(path, data)

    processes = [multiprocessing.get_context("fork").Process(target=write, args=(data,)) for data in whole[:2]]
    threads = [threading.Thread(target=write, args=(data,)) for data in whole[2:]]
    write_whole(path, whole[0])
    for one in (*processes, *threads):
        one.start()
    while any(one.is_alive() for one in (*processes, *threads)):
        assert path.read_bytes() in whole
    for one in processes:
        one.join()
        assert one.exitcode == 0
    for one in threads:
        one.join()
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "folder", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_claim_of_a_judge_that_died_is_void_in_time(tmp_path: Path) -> None:
    name = write_job(tmp_path, request(), SOFTMAX)
    path = tmp_path / f"{name}{CLAIM}"
    path.write_text("elsewhere 1")
    with claim(tmp_path, name) as ours:
        assert not ours
    os.utime(path, (time.time() - job_files.CLAIM_S - 1,) * 2)
    with claim(tmp_path, name) as ours:
        assert ours


def test_a_claim_is_kept_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_files, "HEARTBEAT_S", 0.02)
    name = write_job(tmp_path, request(), SOFTMAX)
    with claim(tmp_path, name) as ours:
        assert ours
        os.utime(tmp_path / f"{name}{CLAIM}", (0, 0))
        deadline = time.monotonic() + 5
        while (tmp_path / f"{name}{CLAIM}").stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (tmp_path / f"{name}{CLAIM}").stat().st_mtime > 0


def test_a_job_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    outside = request().model_copy(update={"spec_path": "../../etc", "blobs_path": "blobs"})
    (tmp_path / f"bad{JOB}").write_text(outside.model_dump_json())
    with pytest.raises(ValueError, match="outside the jobs folder"):
        read_job(tmp_path, "bad")
