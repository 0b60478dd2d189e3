"""The journal survives a cut at any byte, says where it is damaged, has one writer, and folds to the truth."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.loop import events as ev
from tilewright.loop.journal import FILE, Journal, JournalError, is_at_work, read_journal
from tilewright.loop.view import advance, fold
from tilewright_sandbox.contract import (
    Axis,
    Candidate,
    Check,
    Config,
    Measured,
    Rejected,
    Run,
    Spec,
    TensorInput,
    TensorOutput,
    Workload,
    candidate_id,
)

HASH = "0" * 64


def make_spec() -> Spec:
    return Spec(
        name="double",
        summary="y = 2 x",
        op="double",
        axes={"n": Axis(min=1, max=4096)},
        inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
        outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
        workloads=(Workload(role="tune", axes={"n": 1024}),),
        reference_sha256=HASH,
    )


def make_run() -> ev.RunStarted:
    run = Run(id="r", spec=make_spec(), spec_path="specs/double", target="sm_90", seed=0, started_utc="2026-01-01")
    return ev.RunStarted(run=run, limits=ev.Limits(rounds=3), box="process")


def make_candidate(text: str) -> Candidate:
    return Candidate(id=candidate_id(text), source=text, space={"BLOCK": (64, 128)}, proposer="templates")


def measured(candidate: Candidate, config: Config) -> Measured:
    return Measured(
        candidate_id=candidate.id,
        config=config,
        evidence="interpreter + compiled for sm_90",
        target="sm_90",
        checks=(
            Check(name="budget", status="PASS"),
            Check(name="physics", status="NOT_RUN", reason="no device"),
        ),
        rung="within budget",
        box="bubblewrap",
        seed_commitment=HASH,
        seed="00",
    )


A, B = make_candidate("a = 1"), make_candidate("b = 2")
CONFIG = Config({"BLOCK": 64})
STORY: list[ev.Event] = [
    make_run(),
    ev.Traced(message="no graph — naïve"),
    ev.Proposed(round=1, proposer="templates", candidates=(A, B)),
    ev.Built(round=1, candidate_id=A.id, config=CONFIG, plans=(HASH,), times=(), modelled_us=9.5, seconds=1.0),
    ev.JudgedEvent(
        round=1,
        candidate_id=B.id,
        config=None,
        depth="build",
        verdict=Rejected(candidate_id=B.id, stage="capture", code="reads_value", message="line one\nline two"),
    ),
    ev.JudgedEvent(round=1, candidate_id=A.id, config=CONFIG, depth="full", verdict=measured(A, CONFIG)),
    ev.Compared(round=1, candidate_id=A.id, config=CONFIG, modelled_us=9.5, improved=True, message="A"),
    ev.Decided(round=1, go_on=False, reason="done", status="verified"),
    ev.ReviewRequested(round=1, candidate_id=A.id, obstacles=("none measured",)),
]


def write(path: Path, story: list[ev.Event]) -> None:
    path.mkdir(exist_ok=True)
    with Journal(path) as journal:
        for event in story:
            journal.append(event)


def test_what_is_written_is_read_back_in_order(tmp_path: Path) -> None:
    write(tmp_path / "run", STORY)
    events = read_journal(tmp_path / "run")
    assert [event.seq for event in events] == list(range(len(STORY)))
    for written, read in zip(STORY, events, strict=True):
        assert read.model_copy(update={"seq": -1, "at": ""}) == written
        assert read.at
    assert all(json.loads(line)["kind"] for line in (tmp_path / "run" / FILE).read_text().splitlines())


def test_fold_gives_best_states_and_status(tmp_path: Path) -> None:
    write(tmp_path / "run", STORY)
    view = fold(read_journal(tmp_path / "run"))
    assert view.best is not None
    assert view.best.id == A.id
    assert view.best_verdict == measured(A, CONFIG)
    assert view.candidates[B.id].state == "rejected at capture"
    assert (view.status, view.round, view.speedup) == ("awaiting review", 1, None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "run"
    write(path, STORY)
    return (path / FILE).read_bytes()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_cut_anywhere_keeps_every_complete_event_and_goes_on(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(whole)))
    run = tmp_path_factory.mktemp("cut")
    (run / FILE).write_bytes(whole[:cut])
    complete = whole[:cut].count(b"\n")
    assert len(read_journal(run)) == complete
    with Journal(run) as journal:
        assert len(journal.events) == complete
        assert journal.torn_bytes == cut - (whole[:cut].rfind(b"\n") + 1)
        journal.append(ev.Stopped(reason="x"))
    assert len(read_journal(run)) == complete + 1
    torn = list(run.glob("torn-*"))
    assert [path.read_bytes() for path in torn] == ([whole[:cut].rsplit(b"\n", 1)[-1]] if journal.torn_bytes else [])


def test_folding_piecewise_equals_folding_at_once(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(whole)
    events = read_journal(tmp_path)
    piecewise = fold(events[:1])
    for event in events[1:]:
        advance(piecewise, event)
    assert piecewise == fold(events)


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        (lambda lines: [lines[0], b"{}", *lines[2:]], ":2:"),
        (lambda lines: [lines[0], lines[1].replace(b'"kind":"traced"', b'"kind":"dreamt"'), *lines[2:]], ":2:"),
        (lambda lines: [lines[0], *lines[2:]], ":2:"),
        (lambda lines: [*lines[:3], b"\x00\xff", *lines[4:]], ":4:"),
    ],
    ids=["empty object", "unknown kind", "lost line", "garbage"],
)
def test_damage_in_the_middle_names_file_line_and_mend(whole: bytes, tmp_path: Path, damage, where: str) -> None:
    (tmp_path / FILE).write_bytes(b"\n".join(damage(whole.splitlines())) + b"\n")
    with pytest.raises(JournalError, match=f"{FILE}{where}.*start a new run"):
        read_journal(tmp_path)
    with pytest.raises(JournalError, match=where):
        Journal(tmp_path)


def test_journal_that_does_not_begin_at_the_beginning_is_refused() -> None:
    with pytest.raises(JournalError, match="does not begin with run_started"):
        fold([ev.Stopped(reason="x", seq=0)])


def test_event_about_an_unknown_candidate_is_refused(tmp_path: Path) -> None:
    tuned = ev.Tuned(round=1, candidate_id="f" * 16, config=CONFIG, value_us=1.0, trials=1, seconds=1.0)
    write(tmp_path / "run", [make_run(), tuned])
    with pytest.raises(JournalError, match=r"event 1 \(tuned\) speaks of 'ffff"):
        fold(read_journal(tmp_path / "run"))


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path):
        assert is_at_work(tmp_path)
        with pytest.raises(JournalError, match="at work in another process"):
            Journal(tmp_path)
    assert not is_at_work(tmp_path)
    with Journal(tmp_path):
        pass


def test_lock_ends_with_a_killed_writer(tmp_path: Path) -> None:
    code = (
        "import sys, time, pathlib; from tilewright.loop.journal import Journal\n"
        "journal = Journal(pathlib.Path(sys.argv[1])); print('locked', flush=True); time.sleep(60)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"locked\n"
    with pytest.raises(JournalError, match="another process"):
        Journal(tmp_path)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait(10)
    writer.stdout.close()
    Journal(tmp_path).close()


def test_idle_time_between_sessions_costs_nothing() -> None:
    def at(second: int) -> str:
        return f"2026-01-01T00:{second // 60:02}:{second % 60:02}+00:00"

    story = [
        make_run().model_copy(update={"at": at(0), "seq": 0}),
        ev.Traced(message="x", at=at(10), seq=1),
        ev.Resumed(at=at(1000), seq=2),
        ev.Traced(message="x", at=at(1005), seq=3),
        ev.Stopped(reason="interrupted", at=at(1006), seq=4),
    ]
    view = fold(story)
    assert view.wall_s == pytest.approx(16)
    assert view.status == "stopped"
    advance(view, ev.Resumed(at=at(2000), seq=5))
    assert view.status == "running"
    assert view.wall_s == pytest.approx(16)
