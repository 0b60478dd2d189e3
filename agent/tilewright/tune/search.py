"""`tune`: TRIALS first, then Optuna's proposals, then the neighbours of the best two, within a budget of builds.

On a machine with no GPU the objective is the modelled time of compiled kernels, so a build is a trial. The same seed,
candidate and budget give the same trials in the same order; an interrupted search is repeated with the trials that it
had, which are then not built again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from tilewright_sandbox.contract import Candidate, Config, Spec
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.targets import Target

from .evaluate import Evaluator
from .importance import parameter_importance
from .records import Build, TrialRecord, TuneResult
from .space import SearchSpace
from .study import Study

DEFAULT_TRIALS = 24
BATCH_POINTS = 4
"""Points built at a time: enough for the builder's workers, few enough that the sampler learns between batches."""
POLISH_SHARE = 4
"""One of so many trials is kept for the neighbours of the best two."""
MISSES = 32
"""Proposals in a row that are forbidden or known, after which an untried point is drawn at random."""

Ended = Literal["space exhausted", "trials spent", "time spent"]


def tune(
    candidate: Candidate,
    spec: Spec,
    target: Target,
    build: Build,
    *,
    trials: int = DEFAULT_TRIALS,
    seed: int = 0,
    wall_s: float | None = None,
    study_path: Path | None = None,
    on_trial: Callable[[TrialRecord], None] | None = None,
    earlier: Iterable[TrialRecord] = (),
    graph: OpGraph | None = None,
) -> TuneResult:
    """Search SPACE for the least weighted geometric mean of modelled times over the tune and bench workloads.

    `trials` bounds the points that are built, `wall_s` the seconds after which no further batch is begun. Spilling
    kernels win only where every kernel spills. `on_trial` is told each new trial; those of `earlier` are reused and not
    told. With `study_path` the Optuna study is kept in that journal file. What `build` raises is passed on.
    """
    begun = time.monotonic()
    space = SearchSpace(candidate, spec)
    evaluator = Evaluator(spec, target, build, space, on_trial, graph, {record.config.id: record for record in earlier})
    search = _Search(space, evaluator, Study(space, candidate.id, target.name, seed, trials, study_path), trials, seed)
    search.deadline = begun + wall_s if wall_s is not None else None
    ended = search.run(candidate.trials)
    best = next(iter(evaluator.ranked()), None)
    return TuneResult(
        best=best.config if best else None,
        value_us=best.value_us if best else None,
        trials=tuple(evaluator.trials),
        importance=parameter_importance(space, evaluator.trials, seed),
        points=space.size,
        feasible_points=None if space.feasible is None else len(space.feasible),
        built=len(evaluator.built),
        ended=ended,
        seconds=time.monotonic() - begun,
    )


class _Search:
    def __init__(self, space: SearchSpace, evaluator: Evaluator, study: Study, trials: int, seed: int) -> None:
        self.space, self.evaluator, self.study, self.trials = space, evaluator, study, trials
        self.random = random.Random(seed)
        self.deadline: float | None = None

    def run(self, first: Iterable[Config]) -> Ended:
        guesses = list(self._feasible(first))
        if self.space.feasible is not None and len(self.space.feasible) <= self.trials:
            self._spend(iter((*guesses, *self.space.feasible)), self.trials)
        else:
            self._spend(iter(guesses), self.trials)
            self._propose(self.trials - max(1, self.trials // POLISH_SHARE))
            self._polish()
            self._propose(self.trials)
        if self.space.feasible is not None and all(self.evaluator.known(config) for config in self.space.feasible):
            return "space exhausted"
        return "time spent" if self._out_of_time() else "trials spent"

    def _left(self, limit: int) -> int:
        return 0 if self._out_of_time() else max(0, limit - len(self.evaluator.built))

    def _out_of_time(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _feasible(self, configs: Iterable[Config]) -> Iterator[Config]:
        for config in configs:
            if self.space.violation(config) > 0:
                self._refuse(config)
            else:
                yield config

    def _refuse(self, config: Config, asked: Any = None) -> None:
        if self.evaluator.known(config) is None:
            self.evaluator.refuse(config)
        self.study.tell(self.evaluator.known(config), self.space.violation(config), asked)

    def _spend(self, configs: Iterator[Config], limit: int) -> bool:
        """Build untried points in batches until there are none or the limit is reached; whether any was built."""
        found = False
        while left := self._left(limit):
            batch: dict[str, Config] = {}
            for config in configs:
                if self.evaluator.known(config) is None:
                    batch.setdefault(config.id, config)
                if len(batch) == min(BATCH_POINTS, left):
                    break
            if not batch:
                return found
            found = True
            for trial in self.evaluator.evaluate(batch.values()):
                self.study.tell(trial, 0.0)
        return found

    def _propose(self, limit: int) -> None:
        while left := self._left(limit):
            asked = self._ask(min(BATCH_POINTS, left))
            if not asked:
                return
            trials = self.evaluator.evaluate(config for config, _ in asked.values())
            for trial, (_, proposal) in zip(trials, asked.values(), strict=True):
                self.study.tell(trial, 0.0, proposal)

    def _ask(self, count: int) -> dict[str, tuple[Config, Any]]:
        """Up to `count` untried feasible points: the sampler's, or random ones where it does not find any."""
        found: dict[str, tuple[Config, Any]] = {}
        misses = 0
        while len(found) < count and misses < MISSES:
            config, proposal = self.study.ask()
            if self.space.violation(config) > 0:
                self._refuse(config, proposal)
                misses += 1
            elif (known := self.evaluator.known(config)) is not None:
                self.study.tell(known, 0.0, proposal)
                misses += 1
            elif config.id in found:
                self.study.drop(proposal)
                misses += 1
            else:
                found[config.id] = (config, proposal)
        if len(found) < count and self.space.feasible is not None:
            untried = [c for c in self.space.feasible if self.evaluator.known(c) is None and c.id not in found]
            for config in self.random.sample(untried, min(count - len(found), len(untried))):
                found[config.id] = (config, None)
        return found

    def _polish(self) -> None:
        """Neighbours of the best two; again while that finds a better one."""
        while self._left(self.trials):
            top = self.evaluator.ranked()[:2]
            around = (config for trial in top for config in self.space.neighbours(trial.config))
            if not self._spend(around, self.trials) or self.evaluator.ranked()[:2] == top:
                return
