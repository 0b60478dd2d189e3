"""What measured times decide: who is judged first, who replaces the incumbent, when to stop, and that no modelled time
ever stands beside a measured one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewright.judge import JudgeProcess, open_judge, resolve_judge
from tilewright.loop import events as ev
from tilewright.loop import on_device
from tilewright.loop.budget import BudgetExhausted
from tilewright.loop.comparing import compare, contenders, screened
from tilewright.loop.finishing import feedback_on, outcome, verdict_on_round
from tilewright.loop.journal import Journal
from tilewright.loop.making import best_point
from tilewright.loop.measured import speedup
from tilewright.loop.racing import best_trials
from tilewright.loop.search import Search
from tilewright.loop.state import initial_state
from tilewright.loop.view import CandidateView, RunView, fold
from tilewright_sandbox.contract import (
    Axis,
    Candidate,
    Check,
    Config,
    Measured,
    MeasuredTime,
    Run,
    SandboxUnavailable,
    Spec,
    TensorInput,
    TensorOutput,
    Workload,
    candidate_id,
)
from tilewright_sandbox.jobs import RaceReply, RaceRequest
from tilewright_sandbox.spec import SpecFolder
from tilewright_sandbox.targets import TARGETS

BENCH = (
    Workload(role="bench", axes={"n": 1024}, weight=3.0),
    Workload(role="bench", axes={"n": 64}),
)
SPEC = Spec(
    name="double", summary="y = 2 x", op="double", axes={"n": Axis(min=1, max=4096)},
    inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
    outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
    workloads=(Workload(role="tune", axes={"n": 512}), *BENCH), reference_sha256="0" * 64,
)  # fmt: skip
FIRST, SECOND = Config({"BLOCK": 64}), Config({"BLOCK": 128})


def candidate(text: str) -> Candidate:
    return Candidate(id=candidate_id(text), source=text, space={"BLOCK": (64, 128)}, proposer="templates", title=text)


def verdict(
    of: Candidate, config: Config, us: float = 100.0, *, low: float = 1.2, gain: float = 1.3, roofline: float = 0.5,
    lows: tuple[float, ...] = (),
) -> Measured:  # fmt: skip
    """Device evidence with the same figures on every bench workload, but for `lows`."""
    times = tuple(
        MeasuredTime(
            workload=workload, median_us=us, p10_us=us, p90_us=us, samples=40, ratio=(one, gain, gain + 0.1),
            baselines_us={"eager": 3 * us, "compile": gain * us}, strongest="compile", roofline_us=roofline * us,
        )
        for workload, one in zip(BENCH, lows or (low,) * len(BENCH), strict=True)
    )  # fmt: skip
    return Measured(
        candidate_id=of.id, config=config, evidence="device: NVIDIA H200", target="sm_90", device_uuid="GPU-1",
        checks=(Check(name="budget", status="PASS"),), rung="bitwise", times=times, box="bubblewrap",
        seed_commitment="0" * 64, seed="00",
    )  # fmt: skip


def offered(number: int, *found: Candidate) -> list[ev.Event]:
    """Proposed, built, screened and tuned by the model, the first config modelled the faster."""
    events: list[ev.Event] = [ev.Proposed(round=number, proposer="templates", candidates=found)]
    for place, one in enumerate(found):
        modelled_us = 10.0 + place
        common: dict[str, Any] = {"round": number, "candidate_id": one.id}
        events += [
            ev.Built(**common, config=FIRST, plans=(), times=(), modelled_us=modelled_us, seconds=1),
            ev.JudgedEvent(**common, config=FIRST, depth="screen", verdict=verdict(one, FIRST)),
            ev.TrialEvent(**common, number=0, config=FIRST, value_us=modelled_us, state="built"),
            ev.TrialEvent(**common, number=1, config=SECOND, value_us=modelled_us + 5, state="built"),
            ev.Tuned(**common, config=FIRST, value_us=modelled_us, trials=2, seconds=1),
        ]
    return events


def raced(number: int, one: Candidate, *times_us: float | None) -> ev.Raced:
    points = tuple(
        ev.RacedPoint(config=config, value_us=us, code="" if us else "wrong_values", message="" if us else "c = 40.")
        for config, us in zip((FIRST, SECOND), times_us, strict=False)
    )
    return ev.Raced(round=number, candidate_id=one.id, points=points, seconds=1)


def full(number: int, one: Candidate, given: Measured) -> ev.JudgedEvent:
    return ev.JudgedEvent(round=number, candidate_id=one.id, config=given.config, depth="full", verdict=given)


def compared(number: int, one: Candidate, config: Config) -> ev.Compared:
    return ev.Compared(
        round=number, candidate_id=one.id, config=config, modelled_us=10.0, improved=True, message=one.title
    )


def started() -> ev.RunStarted:
    run = Run(
        id="r", spec=SPEC, spec_path="specs/double", target="sm_90", seed=0, started_utc="2026-01-01",
        options={"judge": "device"},
    )  # fmt: skip
    return ev.RunStarted(run=run, limits=ev.Limits(rounds=3, gpu_s=5), box="process")


def story(*events: ev.Event) -> RunView:
    numbered = [started(), ev.Preflight(roofline_us=9.9, workloads={}, message="modelled"), *events]
    at = "2026-01-01T00:00:00+00:00"
    return fold(event.model_copy(update={"seq": seq, "at": at}) for seq, event in enumerate(numbered))  # type: ignore[misc]


A, B, C = candidate("a = 1"), candidate("b = 2"), candidate("c = 3")


def test_the_race_and_not_the_model_says_who_is_judged_first() -> None:
    view = story(*offered(1, A, B, C), raced(1, A, 120.0, 90.0), raced(1, B, 80.0, None))
    ours = view.in_round(1)
    assert [c.id for c in screened(ours)] == [A.id, B.id, C.id], "by the model"
    assert [c.id for c in contenders(ours)] == [B.id, A.id], "C was not raced: its modelled time stands beside none"
    assert [best_point(c) for c in contenders(ours)] == [(FIRST, 80.0), (SECOND, 90.0)]
    assert best_point(view.candidates[C.id]) == (FIRST, 12.0)


def test_a_candidate_of_which_no_config_ran_is_out_with_the_reason() -> None:
    view = story(*offered(1, A), raced(1, A, None, None))
    assert contenders(view.in_round(1)) == []
    assert view.candidates[A.id].state == "failed its race"
    with pytest.raises(ValueError, match="no config"):
        best_point(view.candidates[A.id])
    assert feedback_on(view.candidates[A.id], 9.9).facts["code"] == "wrong_values"


def test_the_best_of_the_tuner_are_raced_and_no_kernel_twice() -> None:
    trials = [
        ev.TrialEvent(
            round=1, candidate_id=A.id, number=number, config=Config({"BLOCK": number}), value_us=us, state=state,
            resources={"spill_bytes": spilled},
        )
        for number, (us, state, spilled) in enumerate(
            [(9.0, "built", 0), (3.0, "built", 64), (9.0, "same", 0), (None, "rejected", 0)]
            + [(20.0 - n, "built", 0) for n in range(9)]
        )
    ]  # fmt: skip
    view = CandidateView(A, 1, trials=trials, built=story(*offered(1, A)).candidates[A.id].built)
    assert [c.root["BLOCK"] for c in best_trials(view)] == [0, 12, 11, 10, 9, 8, 7, 6]


def test_speed_is_weighted_and_a_win_is_one_on_every_workload() -> None:
    wins = verdict(A, FIRST, lows=(1.3, 1.06))
    gain = speedup(story(*offered(1, A), full(1, A, wins), compared(1, A, FIRST)).measured)
    assert gain is not None
    assert gain[0] == pytest.approx(1.3**0.75 * 1.06**0.25)
    for lows, status in (((1.3, 1.06), "verified"), ((1.3, 1.04), "no_win"), ((0.0, 1.3), "no_win")):
        view = story(*offered(1, A), full(1, A, verdict(A, FIRST, lows=lows)), compared(1, A, FIRST))
        assert outcome(view) == status


@pytest.mark.parametrize(
    ("given", "go_on", "reason"),
    [
        (verdict(A, FIRST), True, "a further round"),
        (verdict(A, FIRST, roofline=0.96), False, "measured at 1.04× of the roofline"),
        (verdict(A, FIRST, low=0.9, gain=0.92, roofline=0.9), False, "compile is already at 1.02× of the roofline"),
        (verdict(A, FIRST, low=0.9, gain=0.95, roofline=0.9), True, "a further round"),
    ],
)
def test_measured_roofline_and_headroom_end_the_search(given: Measured, go_on: bool, reason: str) -> None:
    """The modelled time is 1.01× of the modelled roofline here, and says nothing."""
    view = story(*offered(1, A), full(1, A, given), compared(1, A, FIRST))
    found = verdict_on_round(view, 1, "", rounds_left=2)
    assert found[0] is go_on
    assert reason in found[1]


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Search]:
    """One that has found A at 100 µs, raced at 95, in its first round, and has a second one."""
    events = [
        started(), *offered(1, A), raced(1, A, 95.0), full(1, A, verdict(A, FIRST, 100.0)), compared(1, A, FIRST),
        *offered(2, B, C),
    ]  # fmt: skip
    with Journal(tmp_path) as journal, JudgeProcess(on="device") as judge:
        for event in events:
            journal.append(event)
        yield Search(
            journal=journal, view=fold(journal.events), spec_folder=SpecFolder(tmp_path, SPEC, ""), judge=judge,
            proposers=[], target=TARGETS["sm_90"],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("b_us", "c_us", "winner", "improved"),
    [
        ((90.0, 97.0), (92.0, 91.0), B, True),  # the first that is measured to be faster
        ((90.0, 103.0), (92.0, 91.0), C, True),  # its race was luck: the next one is looked at
        ((90.0, 103.0), (92.0, 100.0), A, False),
        ((98.0, 120.0), (99.0, 120.0), A, False),  # lost the race by too much: not judged
    ],
)
def test_the_incumbent_is_replaced_only_by_a_kernel_measured_to_be_faster(
    search: Search, b_us: tuple[float, float], c_us: tuple[float, float], winner: Candidate, improved: bool
) -> None:
    for one, (raced_us, measured_us) in ((B, b_us), (C, c_us)):
        search.record(raced(2, one, raced_us))
        search.record(full(2, one, verdict(one, FIRST, measured_us)))
    compare(search, {**initial_state("r"), "round": 2})
    last = search.view.compared[-1]
    assert (last.round, last.candidate_id, last.improved) == (2, winner.id, improved)
    assert search.view.measured_us == pytest.approx({A.id: 100.0, B.id: 97.0, C.id: 91.0}[winner.id])


def test_a_judge_here_is_ended_when_the_gpu_seconds_are_spent(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "START_S", 0.0)
    search.view.gpu_s = 4.0  # of 5
    search.judge = JudgeProcess(("-I", "-c", "import time; time.sleep(60)"), on="device")
    request = RaceRequest(spec_path="specs/double", plans=(), blobs_path="blobs", target="sm_90")
    begun = time.monotonic()
    with pytest.raises(BudgetExhausted, match="--budget-gpu-seconds"):
        on_device.ask(search, request, RaceReply, "race", on_device.Spend())
    assert time.monotonic() - begun < 10
    search.judge.close()


def test_judges_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_judge("queue:jobs") == f"queue:{tmp_path / 'jobs'}"
    assert resolve_judge("interpreter") == "interpreter"
    assert resolve_judge("auto") in ("interpreter", "device")
    for name in ("queue:", "gpu", ""):
        with pytest.raises(ValueError, match="no judge"):
            resolve_judge(name)
    (tmp_path / "file").touch()
    with pytest.raises(SandboxUnavailable, match="cannot create the queue"):
        open_judge("queue:file/jobs")
