"""The search itself, on recorded trials of a whole SPACE: nothing is built, so any landscape can be searched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import mean

import pytest

from tilewright.tune import TrialRecord, TuneResult, tune
from tilewright.tune.importance import parameter_importance
from tilewright.tune.space import SearchSpace
from tilewright_sandbox.candidate import parse_candidate
from tilewright_sandbox.contract import Axis, Candidate, Config, Spec, TensorInput, TensorOutput, Workload
from tilewright_sandbox.jobs import BuildJob, Outcome
from tilewright_sandbox.targets import TARGETS

SPEC = Spec(
    name="copy",
    summary="y = x",
    op="copy",
    axes={"n": Axis(min=1, max=1 << 20)},
    inputs=(TensorInput(name="x", shape=("n",), dtype="float32"),),
    outputs=(TensorOutput(name="y", shape=("n",), dtype="float32"),),
    workloads=(Workload(role="tune", axes={"n": 4096}), Workload(role="bench", axes={"n": 2048})),
    reference_sha256="0" * 64,
)
SOURCE = """
import triton

SPACE = {
    "BM": [16, 32, 64, 128, 256], "BN": [256, 128, 64, 32, 16], "STEP": [3, 1, 7], "ORDER": ["rows", "cols"],
    "PAD": [False, True], "FIXED": [1],
}
WHERE = ["BM * BN <= 16384", "BM <= n"]
TRIALS = [{"BM": 16, "BN": 16, "STEP": 1, "ORDER": "rows", "PAD": False}]


@triton.jit
def k():
    pass


def run(x, *, BM, BN, STEP, ORDER, PAD, FIXED):
    return x
"""
Landscape = Callable[[Config], float]


def parse(source: str = SOURCE) -> Candidate:
    parsed = parse_candidate(source, proposer="templates", spec=SPEC)
    assert isinstance(parsed, Candidate), parsed
    return parsed


def valley(config: Config) -> float:
    """Least at BM 128, BN 64, rows; STEP and PAD matter little."""
    at = config.root
    far = abs(math.log2(float(at["BM"])) - 7) + 2 * abs(math.log2(float(at["BN"])) - 6)
    return 50 + 10 * far + (15 if at["ORDER"] == "cols" else 0) + 0.1 * float(at["STEP"]) + 0.1 * float(at["PAD"])


def nothing_to_build(jobs: Sequence[BuildJob]) -> Sequence[Outcome]:
    raise AssertionError(f"asked to build {[str(job.config) for job in jobs]}")


def recorded(landscape: Landscape, spills: Callable[[Config], int] = lambda config: 0) -> list[TrialRecord]:
    feasible = SearchSpace(parse(), SPEC).feasible
    assert feasible is not None
    return [
        TrialRecord(
            number=0, config=config, value_us=landscape(config), state="built",
            resources={"registers": 32, "spill_bytes": spills(config)},
        )
        for config in feasible
    ]  # fmt: skip


def search(trials: list[TrialRecord], seed: int = 0, budget: int = 40) -> TuneResult:
    return tune(parse(), SPEC, TARGETS["sm_90"], nothing_to_build, trials=budget, seed=seed, earlier=trials)


# -------------------------------------------------------------------------------------------------------- SPACE


def test_powers_of_two_are_searched_by_their_logarithm_and_the_rest_by_place() -> None:
    by_name = {parameter.name: parameter for parameter in SearchSpace(parse(), SPEC).parameters}
    assert list(by_name) == ["BM", "BN", "STEP", "ORDER", "PAD"]
    assert [by_name["BN"].coordinate(value) for value in (16, 32, 256)] == [4, 5, 8]
    assert [by_name["STEP"].coordinate(value) for value in (1, 3, 7)] == [0, 1, 2]
    assert by_name["STEP"].ordered
    assert not by_name["ORDER"].ordered
    assert not by_name["PAD"].ordered


def test_coordinates_lead_back_to_the_point() -> None:
    space = SearchSpace(parse(), SPEC)
    points = list(space.points())
    assert len(points) == space.size == 300
    assert [space.from_coordinates(space.coordinates(point)) for point in points] == points
    assert list(points[0].root) == ["BM", "BN", "STEP", "ORDER", "PAD", "FIXED"]


def test_where_holds_on_every_workload_or_the_point_is_out() -> None:
    space = SearchSpace(parse(SOURCE.replace("BM <= n", "BM * 16 <= n")), SPEC)
    assert space.feasible is not None
    assert {point.root["BM"] for point in space.feasible} == {16, 32, 64, 128}, "256 fits the larger workload alone"
    wide, wider = (Config({**space.feasible[0].root, "BM": 256, "BN": bn}) for bn in (16, 256))
    assert 0 < space.violation(wide) < space.violation(wider)
    assert space.broken_condition(wide) == "BM * 16 <= n is false on n=2048"


def test_neighbours_are_one_allowed_step_away() -> None:
    space = SearchSpace(parse(), SPEC)
    here = Config({"BM": 128, "BN": 128, "STEP": 1, "ORDER": "rows", "PAD": False, "FIXED": 1})
    changes = [
        {name: value for name, value in near.root.items() if value != here.root[name]}
        for near in space.neighbours(here)
    ]
    assert changes == [{"BM": 64}, {"BN": 64}, {"STEP": 3}, {"ORDER": "cols"}, {"PAD": True}]


# ------------------------------------------------------------------------------------------------------- search


def test_the_search_keeps_its_budget_and_begins_with_the_guesses() -> None:
    result = search(recorded(valley))
    assert (result.built, result.ended) == (40, "trials spent")
    assert result.trials[0].config == parse().trials[0]
    assert [trial.number for trial in result.trials] == list(range(len(result.trials)))
    assert len({trial.config.id for trial in result.trials}) == len(result.trials)


def test_forbidden_proposals_are_on_record_and_cost_no_build() -> None:
    results = [search(recorded(valley), seed) for seed in range(3)]
    forbidden = [trial for result in results for trial in result.trials if trial.state == "infeasible"]
    assert forbidden
    assert all(trial.value_us is None and "is false on" in trial.reason for trial in forbidden)
    assert all(result.built == 40 for result in results)


def test_the_sampler_learns_from_what_it_is_told() -> None:
    """After its random start and before polishing, its points are better than the space is on average."""
    trials = recorded(valley)
    everywhere = mean(trial.value_us or math.inf for trial in trials)
    for seed in range(6):
        built = [trial for trial in search(trials, seed).trials if trial.state != "infeasible"]
        assert mean(trial.value_us or math.inf for trial in built[15:30]) < 0.88 * everywhere


def test_the_search_comes_near_the_best_point() -> None:
    """With a sixth of the space tried, within 2 % of the least value, whatever the seed."""
    trials = recorded(valley)
    least = min(trial.value_us or math.inf for trial in trials)
    assert all((search(trials, seed).value_us or math.inf) <= 1.02 * least for seed in range(4))


@pytest.mark.parametrize("seed", range(3))
def test_the_last_quarter_begins_with_the_neighbours_of_the_best_two(seed: int) -> None:
    space = SearchSpace(parse(), SPEC)
    built = [trial for trial in search(recorded(valley), seed).trials if trial.state != "infeasible"]
    before, after = built[:30], built[30:]
    tried = {trial.config.id for trial in before}
    top = sorted(before, key=lambda trial: trial.rank)[:2]
    around = {near.id: near for trial in top for near in space.neighbours(trial.config) if near.id not in tried}
    assert around, "nothing was left to polish, so this proves nothing"
    assert [trial.config for trial in after][: len(around)] == list(around.values())[: len(after)]


def test_a_spilling_kernel_wins_only_where_all_spill() -> None:
    def spills(config: Config) -> int:
        return 64 if config.root["BM"] == 128 else 0

    some = search(recorded(valley, spills), budget=400)
    assert some.ended == "space exhausted"
    assert some.best is not None
    assert some.best.root["BM"] != 128
    every = search(recorded(valley, lambda config: 64), budget=400)
    assert every.best is not None
    assert every.best.root["BM"] == 128


def test_equal_times_go_to_fewer_registers_then_to_the_earlier_trial() -> None:
    def trial(number: int, value_us: float, registers: int) -> TrialRecord:
        resources = {"registers": registers}
        return TrialRecord(number=number, config=Config({}), value_us=value_us, state="built", resources=resources)

    order = [trial(3, 10.0002, 32), trial(5, 10.0001, 32), trial(1, 10.0, 40), trial(0, 10.1, 16)]
    shuffled = [order[2], order[0], order[3], order[1]]
    assert sorted(shuffled, key=lambda one: one.rank) == order


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_seed_gives_the_same_search(seed: int) -> None:
    trials = recorded(valley)
    first, second = search(trials, seed), search(list(reversed(trials)), seed)
    assert first.trials == second.trials
    assert first.importance == second.importance
    assert [trial.config for trial in first.trials] != [trial.config for trial in search(trials, seed + 1).trials]


# --------------------------------------------------------------------------------------------------- importance


def test_importance_names_what_mattered() -> None:
    space, trials = SearchSpace(parse(), SPEC), recorded(valley)
    shares = parameter_importance(space, trials, seed=0)
    assert sum(shares.values()) == pytest.approx(1, abs=1e-3)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert {"STEP", "PAD"} == set(list(shares)[-2:])
    assert shares["BN"] > 5 * (shares["STEP"] + shares["PAD"])


@pytest.mark.parametrize("landscape", [lambda config: 50.0, valley], ids=["flat", "few"])
def test_importance_is_empty_where_trials_cannot_tell(landscape: Landscape) -> None:
    trials = recorded(landscape)
    if landscape is valley:
        trials = trials[:3]
    assert parameter_importance(SearchSpace(parse(), SPEC), trials, seed=0) == {}


def test_a_candidate_with_nothing_to_tune_is_one_trial() -> None:
    candidate = parse("import triton\n@triton.jit\ndef k(): pass\ndef run(x): return x\n")
    record = TrialRecord(number=0, config=Config({}), value_us=5.0, state="built")
    result = tune(candidate, SPEC, TARGETS["sm_90"], nothing_to_build, earlier=[record])
    assert (result.best, result.value_us, result.built) == (Config({}), 5.0, 1)
    assert (result.ended, result.importance) == ("space exhausted", {})
