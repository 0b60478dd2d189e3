"""From points to trials: build a batch on every workload, model its time, and know a kernel that was seen before."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tilewright_sandbox.contract import Config, ConfigValue, Launch, Plan, Spec
from tilewright_sandbox.graph import OpGraph
from tilewright_sandbox.jobs import BuildJob, NotBuilt, Outcome
from tilewright_sandbox.modelled import modelled_time
from tilewright_sandbox.targets import Target

from .records import Build, TrialRecord
from .space import SearchSpace


def binary_of(plans: Sequence[Plan]) -> str:
    """A name for what these plans run: steps, cubins, grids and arguments, without the config that led to them."""
    digest = hashlib.sha256()
    for plan in plans:
        digest.update(plan.workload.label.encode())
        for step in plan.steps:
            if isinstance(step, Launch):
                digest.update(plan.kernels[step.kernel].cubin_sha256.encode())
            digest.update(step.model_dump_json(exclude={"kernel"}).encode())
    return digest.hexdigest()[:16]


def resources_of(plans: Sequence[Plan], occupancy: float) -> dict[str, ConfigValue]:
    """The largest demand of any kernel, and the lowest occupancy."""
    kernels = [kernel for plan in plans for kernel in plan.kernels]
    return {
        "registers": max((k.resources.registers for k in kernels), default=0),
        "spill_bytes": max((k.resources.spill_bytes for k in kernels), default=0),
        "shared_bytes": max((k.resources.shared_bytes for k in kernels), default=0),
        "occupancy": round(occupancy, 4),
        "binary": binary_of(plans),
    }


@dataclass
class Evaluator:
    """Makes trials and numbers them. `earlier` holds trials of an interrupted search, which are not built again."""

    spec: Spec
    target: Target
    build: Build
    space: SearchSpace
    on_trial: Callable[[TrialRecord], None] | None = None
    graph: OpGraph | None = None
    earlier: dict[str, TrialRecord] = field(default_factory=dict)
    trials: list[TrialRecord] = field(default_factory=list)
    _known: dict[str, TrialRecord] = field(default_factory=dict)

    def known(self, config: Config) -> TrialRecord | None:
        return self._known.get(config.id)

    @property
    def built(self) -> list[TrialRecord]:
        """Trials that cost a build."""
        return [trial for trial in self.trials if trial.state != "infeasible"]

    def ranked(self) -> list[TrialRecord]:
        """Trials with a time, best first."""
        return sorted((trial for trial in self.trials if trial.value_us is not None), key=lambda trial: trial.rank)

    def refuse(self, config: Config) -> TrialRecord:
        """Record a point that WHERE forbids."""
        return self._record(config, TrialRecord(
            number=0, config=config, state="infeasible", reason=self.space.broken_condition(config),
        ))  # fmt: skip

    def evaluate(self, configs: Iterable[Config]) -> list[TrialRecord]:
        """One trial a config, in order; those to build go to the builder in one batch."""
        batch = list(configs)
        workloads = self.spec.with_role("tune", "bench")
        fresh = [config for config in batch if config.id not in self.earlier]
        jobs = [BuildJob(config=config, workload=workload) for config in fresh for workload in workloads]
        outcomes = list(self.build(jobs)) if jobs else []
        if len(outcomes) != len(jobs):
            raise ValueError(f"the builder answered {len(outcomes)} outcomes for {len(jobs)} jobs")
        count = len(workloads)
        of_config = {c.id: outcomes[index * count : (index + 1) * count] for index, c in enumerate(fresh)}
        return [
            self._record(config, self.earlier.get(config.id) or self._trial(config, of_config[config.id]))
            for config in batch
        ]

    def _record(self, config: Config, trial: TrialRecord) -> TrialRecord:
        numbered = trial.model_copy(update={"number": len(self.trials)})
        self.trials.append(numbered)
        self._known[config.id] = numbered
        if self.on_trial and config.id not in self.earlier:
            self.on_trial(numbered)
        return numbered

    def _trial(self, config: Config, outcomes: Sequence[Outcome]) -> TrialRecord:
        plans: list[Plan] = []
        for outcome in outcomes:
            if isinstance(outcome, NotBuilt):
                rejected = outcome.rejected
                reason = f"{rejected.stage}: {rejected.message}"
                return TrialRecord(number=0, config=config, state="rejected", reason=reason)
            plans.append(outcome.plan)
        times = [modelled_time(self.spec, plan, self.target, self.graph) for plan in plans]
        resources = resources_of(plans, min(time.occupancy for time in times))
        total = sum(time.workload.weight for time in times)
        value_us = math.exp(sum(time.workload.weight * math.log(time.modelled_us) for time in times) / total)
        if not math.isfinite(value_us):
            reason = f"a kernel does not fit on one multiprocessor of {self.target.name}"
            return TrialRecord(number=0, config=config, state="rejected", reason=reason, resources=resources)
        twin = next((t for t in self.trials if t.resources.get("binary") == resources["binary"]), None)
        return TrialRecord(
            number=0, config=config, value_us=value_us, state="same" if twin else "built",
            reason=f"same kernels as trial {twin.number}" if twin else "", resources=resources,
        )  # fmt: skip
