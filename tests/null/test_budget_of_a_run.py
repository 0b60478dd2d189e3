"""Budgets are hard: a step that would go over one does not begin, and a killed step has cost its reservation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tilewright.loop import events as ev
from tilewright.loop.budget import Budget, BudgetExhausted, limits_from
from tilewright.loop.journal import Journal, read_journal
from tilewright.loop.view import RunView, advance, fold
from tilewright_sandbox.contract import Axis, Run, Spec, TensorInput, TensorOutput, Workload


class Wallclock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def start(path: Path, limits: ev.Limits) -> tuple[Budget, RunView, Wallclock, Journal]:
    spec = Spec(
        name="double",
        summary="y = 2 x",
        op="double",
        axes={"n": Axis(min=1, max=4096)},
        inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
        outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
        workloads=(Workload(role="tune", axes={"n": 1024}),),
        reference_sha256="0" * 64,
    )
    run = Run(id="r", spec=spec, spec_path="specs/double", target="sm_90", seed=0, started_utc="2026-01-01")
    journal = Journal(path)
    view = fold([journal.append(ev.RunStarted(run=run, limits=limits, box="process"))])

    def append(event: ev.Reserved | ev.Settled) -> None:
        advance(view, journal.append(event))

    clock = Wallclock()
    return Budget(view=lambda: view, append=append, clock=clock), view, clock, journal


def test_money_is_reserved_before_and_settled_after(tmp_path: Path) -> None:
    budget, view, _, journal = start(tmp_path, limits_from(None, None, None, usd=1.0))
    with budget.spending("propose", usd=0.6) as spend:
        assert view.usd == pytest.approx(0.6)
        spend.usd = 0.1
    assert view.usd == pytest.approx(0.1)
    with budget.spending("propose", usd=0.9) as spend:
        spend.usd = 0.9
    with pytest.raises(BudgetExhausted, match=r"--budget-usd spent: 1\.00 of 1\.00"):
        budget.check("propose", usd=0.01)
    journal.close()
    assert fold(read_journal(tmp_path)).usd == pytest.approx(1.0)


def test_a_step_that_never_settled_costs_its_whole_reservation(tmp_path: Path) -> None:
    budget, _, _, journal = start(tmp_path, limits_from(None, None, gpu_seconds=10, usd=None))
    with pytest.raises(ZeroDivisionError), budget.spending("judge", gpu_s=7):
        raise ZeroDivisionError
    journal.close()
    assert fold(read_journal(tmp_path)).gpu_s == pytest.approx(7)
    with pytest.raises(BudgetExhausted, match="--budget-gpu-seconds"):
        budget.check("judge", gpu_s=4)
    budget.check("judge", gpu_s=3)


def test_a_step_done_again_is_not_reserved_twice(tmp_path: Path) -> None:
    budget, view, _, journal = start(tmp_path, limits_from(None, None, gpu_seconds=10, usd=None))
    with pytest.raises(ZeroDivisionError), budget.spending("judge", gpu_s=7, token="screen-a"):
        raise ZeroDivisionError
    with budget.spending("judge", gpu_s=9, token="screen-a") as spend:
        assert view.gpu_s == pytest.approx(7)
        spend.gpu_s = 2
    assert view.gpu_s == pytest.approx(2)
    with pytest.raises(BudgetExhausted), budget.spending("judge", gpu_s=8.5, token="screen-b"):
        raise AssertionError("it began")
    journal.close()


def test_a_step_that_a_budget_ended_has_cost_what_it_spent(tmp_path: Path) -> None:
    budget, view, _, journal = start(tmp_path, limits_from(None, None, gpu_seconds=10, usd=None))

    def ended() -> None:
        with budget.spending("judge", gpu_s=3, token="full-a") as spend:
            spend.gpu_s = budget.remaining_gpu_s() or 0.0
            raise BudgetExhausted("--budget-gpu-seconds", "7", "10 s", "full")

    with pytest.raises(BudgetExhausted):
        ended()
    assert view.gpu_s == pytest.approx(7)
    journal.close()


def test_no_money_budget_is_touched_by_free_steps(tmp_path: Path) -> None:
    budget, view, _, journal = start(tmp_path, limits_from(None, None, gpu_seconds=0, usd=0.0))
    with budget.spending("build"):
        pass
    journal.close()
    assert view.usd == 0.0
    assert [event.kind for event in read_journal(tmp_path)] == ["run_started"]


def test_wall_minutes_refuse_a_step_that_took_longer_before(tmp_path: Path) -> None:
    budget, _, clock, journal = start(tmp_path, limits_from(None, minutes=1, gpu_seconds=None, usd=None))
    with budget.spending("build"):
        clock.wait(25)
    budget.check("build")
    clock.wait(15)
    with pytest.raises(BudgetExhausted, match=r"--budget-minutes spent: 0\.7 of 1\.0 minutes, and `build`"):
        budget.check("build")
    budget.check("judge")
    clock.wait(21)
    with pytest.raises(BudgetExhausted, match="`judge`"):
        budget.check("judge")
    journal.close()


def test_rounds_are_counted_by_proposals_and_one_is_granted_by_sending_back(tmp_path: Path) -> None:
    budget, view, _, journal = start(tmp_path, limits_from(rounds=2, minutes=None, gpu_seconds=None, usd=None))
    for number in (1, 2):
        budget.check("propose")
        advance(view, journal.append(ev.Proposed(round=number, proposer="templates", candidates=())))
    with pytest.raises(BudgetExhausted, match="--rounds spent: 2 of 2"):
        budget.check("propose")
    advance(
        view, journal.append(ev.Reviewed(round=2, candidate_id="a" * 16, decision="send_back", note="shorter kernel"))
    )
    budget.check("propose")
    assert view.note == "shorter kernel"
    journal.close()


@pytest.mark.parametrize("limits", [{"rounds": 0}, {"wall_s": 0}, {"usd": -1}, {"gpu_s": -0.1}])
def test_senseless_limits_cannot_be_built(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="greater than"):
        ev.Limits.model_validate(limits)
