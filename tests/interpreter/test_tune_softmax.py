"""The tuner on a real build worker: what it builds, in which order, and what it never builds twice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tilewright.tune import TrialRecord, TuneResult, tune
from tilewright.verify import open_builder
from tilewright_sandbox.boxes import Session, client
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Candidate, Config, Workload
from tilewright_sandbox.jobs import BuildJob, BuildRequest, Built, Outcome
from tilewright_sandbox.modelled import modelled_time
from tilewright_sandbox.spec import find_spec, load_spec
from tilewright_sandbox.targets import TARGETS

TARGET = TARGETS["sm_90"]
FOLDER = load_spec(find_spec("softmax", Path(__file__).parents[2]))
WORKLOADS = (
    Workload(role="tune", axes={"rows": 4096, "cols": 4096}),
    Workload(role="bench", axes={"rows": 8192, "cols": 2048}, weight=3),
)
SPEC = FOLDER.spec.model_copy(update={"workloads": WORKLOADS})
SOURCE = """
import torch
import triton
import triton.language as tl

SPACE = {"BLOCK": [2048, 4096, 8192], "num_warps": [3, 4, 8], "UNUSED": [0, 1]}
WHERE = ["BLOCK >= cols", "num_warps == 8 or UNUSED == 0"]
TRIALS = [{"BLOCK": 8192, "num_warps": 8, "UNUSED": 1}, {"BLOCK": 2048, "num_warps": 8, "UNUSED": 0}]


@triton.jit
def softmax_row(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row + cols, (numerator / tl.sum(numerator, 0)).to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def run(x, *, BLOCK, num_warps, UNUSED):
    y = torch.empty_like(x)
    softmax_row[(x.shape[0],)](x, y, x.shape[1], BLOCK=BLOCK, num_warps=num_warps)
    return y
"""
"""Eight points allowed, of 18: two of them with three warps, which no kernel can have; UNUSED reaches no kernel."""


def parse() -> Candidate:
    parsed = parse_candidate(SOURCE, proposer="templates", spec=SPEC)
    assert isinstance(parsed, Candidate), parsed
    return parsed


SUBJECT = parse()


class Builder:
    """A live session, and a record of every job that it was sent."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.jobs: list[BuildJob] = []
        self.outcomes: list[Outcome] = []

    def __call__(self, jobs: Sequence[BuildJob]) -> Sequence[Outcome]:
        self.jobs += jobs
        request = BuildRequest(
            source=SUBJECT.source, spec=SPEC, jobs=tuple(jobs), target=TARGET.name, compile_timeout_s=60
        )
        reply, _ = client.build(self.session, request, timeout_s=120)
        self.outcomes += reply.outcomes
        return reply.outcomes

    @property
    def built(self) -> list[Config]:
        return [job.config for job in self.jobs if job.workload == WORKLOADS[0]]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_builder("process", trusted=True) as live:
        yield live


# ------------------------------------------------------------------------------------------- a space built whole


@pytest.fixture(scope="module")
def whole(session: Session, tmp_path_factory: pytest.TempPathFactory) -> tuple[TuneResult, Builder, Path]:
    builder = Builder(session)
    study_path = tmp_path_factory.mktemp("study") / "run" / "study.jsonl"
    return tune(SUBJECT, SPEC, TARGET, builder, trials=24, study_path=study_path), builder, study_path


def states(result: TuneResult, state: str) -> list[TrialRecord]:
    return [trial for trial in result.trials if trial.state == state]


def test_every_allowed_point_is_built_once_on_every_workload(whole: tuple[TuneResult, Builder, Path]) -> None:
    result, builder, study_path = whole
    assert (result.points, result.feasible_points, result.ended) == (18, 8, "space exhausted")
    assert result.built == 8 == len({config.id for config in builder.built})
    assert [(job.config, job.workload) for job in builder.jobs] == [
        (config, workload) for config in builder.built for workload in WORKLOADS
    ]
    assert study_path.stat().st_size > 0


def test_where_is_respected_on_the_widest_workload(whole: tuple[TuneResult, Builder, Path]) -> None:
    result, builder, _ = whole
    assert all(config.root["BLOCK"] >= 4096 for config in builder.built)
    assert all(config.root["num_warps"] == 8 or config.root["UNUSED"] == 0 for config in builder.built)
    (refused,) = states(result, "infeasible")
    assert refused.config == SUBJECT.trials[1]
    assert refused.value_us is None
    assert refused.reason == "BLOCK >= cols is false on rows=4096,cols=4096"


def test_guesses_come_first(whole: tuple[TuneResult, Builder, Path]) -> None:
    assert whole[1].built[0] == SUBJECT.trials[0]


def test_points_that_run_the_same_kernels_are_one_trial(whole: tuple[TuneResult, Builder, Path]) -> None:
    """UNUSED reaches no kernel, so that its two values give one binary each BLOCK."""
    result, _, _ = whole
    originals = {trial.number: trial for trial in states(result, "built")}
    twins = states(result, "same")
    assert (len(originals), len(twins)) == (4, 2)
    for twin in twins:
        original = originals[int(twin.reason.removeprefix("same kernels as trial "))]
        assert original.number < twin.number
        assert original.resources["binary"] == twin.resources["binary"]
        assert original.value_us == twin.value_us
        assert original.config.root["BLOCK"] == twin.config.root["BLOCK"]
    assert len({trial.resources["binary"] for trial in originals.values()}) == 4


def test_what_the_builder_refuses_is_a_trial_with_its_reason(whole: tuple[TuneResult, Builder, Path]) -> None:
    refused = states(whole[0], "rejected")
    assert {trial.config.root["num_warps"] for trial in refused} == {3}
    assert len(refused) == 2
    for trial in refused:
        assert trial.value_us is None
        assert trial.reason.startswith("capture: candidate.py:22 ")
        assert "num_warps must be a power of 2" in trial.reason


def test_the_value_is_the_weighted_geometric_mean_of_modelled_times(whole: tuple[TuneResult, Builder, Path]) -> None:
    result, builder, _ = whole
    plans = [outcome.plan for outcome in builder.outcomes if isinstance(outcome, Built)]
    times = {(p.config.id, p.workload.label): modelled_time(SPEC, p, TARGET).modelled_us for p in plans}
    for trial in (*states(result, "built"), *states(result, "same")):
        tuned, benched = (times[trial.config.id, workload.label] for workload in WORKLOADS)
        assert trial.value_us == pytest.approx(math.exp((math.log(tuned) + 3 * math.log(benched)) / 4))
    best = min(states(result, "built"), key=lambda trial: trial.rank)
    assert (result.best, result.value_us) == (best.config, best.value_us)


# ------------------------------------------------------------------------------- a space that is larger than the budget

TRIALS = 5


@pytest.fixture(scope="module")
def first(session: Session) -> TuneResult:
    return tune(SUBJECT, SPEC, TARGET, Builder(session), trials=TRIALS, seed=5)


def sequence(result: TuneResult) -> list[tuple[int, Config, str, float | None]]:
    return [(trial.number, trial.config, trial.state, trial.value_us) for trial in result.trials]


def test_the_budget_is_kept_and_no_point_is_tried_twice(first: TuneResult) -> None:
    assert (first.built, first.ended) == (TRIALS, "trials spent")
    assert len(states(first, "built")) >= 2, first.trials
    assert len({trial.config.id for trial in first.trials}) == len(first.trials)
    assert next(trial.config for trial in first.trials if trial.state != "infeasible") == SUBJECT.trials[0]


def test_an_interrupted_search_goes_on_as_it_would_have_without_building_again(
    session: Session, first: TuneResult
) -> None:
    """The same seed gives the same trials, some of them from the journal and the others built anew."""
    builder, told = Builder(session), list[TrialRecord]()
    cut = first.trials[:3]
    again = tune(
        SUBJECT, SPEC, TARGET, builder, trials=TRIALS, seed=5, earlier=cut, on_trial=told.append
    )  # fmt: skip
    assert sequence(again) == sequence(first)
    assert (again.best, again.value_us, again.importance) == (first.best, first.value_us, first.importance)
    known = {trial.config.id for trial in cut}
    assert not known & {config.id for config in builder.built}
    assert [trial.config for trial in told] == [trial.config for trial in first.trials[3:]]


def test_a_finished_search_is_repeated_without_a_build(session: Session, first: TuneResult) -> None:
    builder = Builder(session)
    again = tune(SUBJECT, SPEC, TARGET, builder, trials=TRIALS, seed=5, earlier=first.trials)
    assert builder.jobs == []
    assert sequence(again) == sequence(first)


def test_no_batch_is_begun_when_the_time_is_spent(session: Session) -> None:
    builder = Builder(session)
    result = tune(SUBJECT, SPEC, TARGET, builder, trials=TRIALS, wall_s=0)
    assert (result.ended, result.best, result.built, builder.jobs) == ("time spent", None, 0, [])
