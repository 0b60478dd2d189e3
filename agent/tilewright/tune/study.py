"""The Optuna study behind a search: ask and tell by Config, forbidden points as graded constraints."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from tilewright_sandbox.contract import Config

from .records import TrialRecord
from .space import SearchSpace

WORST_US = 1e9
"""Told for a point without a time, together with its violation: samplers ignore failed trials but learn from these."""
SPILL_BYTES = 256
"""Spills that count as a violation of 1."""
REJECTED_VIOLATION = 1.0


class Study:
    """One study per candidate, target and seed. Points that the sampler did not propose are told to it all the same."""

    def __init__(
        self, space: SearchSpace, candidate_id: str, target: str, seed: int, trials: int, path: Path | None
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.space = space
        self._optuna = optuna
        self._distributions = {parameter.name: parameter.distribution() for parameter in space.parameters}
        storage, name = _storage(path), f"{candidate_id}-{target}-{seed}"
        if storage is not None and name in optuna.get_all_study_names(storage):
            optuna.delete_study(study_name=name, storage=storage)  # a search that was interrupted is told again
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                seed=seed, n_startup_trials=max(4, trials // 4), multivariate=True, constant_liar=True
            )
        self.study = optuna.create_study(study_name=name, storage=storage, sampler=sampler, direction="minimize")

    def ask(self) -> tuple[Config, Any]:
        """A proposal, perhaps forbidden or known, and the handle to tell its result with."""
        proposal = self.study.ask(self._distributions)
        return self.space.from_coordinates(proposal.params), proposal

    def tell(self, trial: TrialRecord | None, where_violation: float, proposal: Any = None) -> None:
        """Tell what became of a point. Spills and refusals count as violated constraints, graded where they can be."""
        if trial is None:
            return
        constraints = {"where": where_violation, "spills": trial.spill_bytes / SPILL_BYTES}
        if trial.value_us is None and where_violation == 0:
            constraints["where"] = REJECTED_VIOLATION
        if proposal is None:
            if not self._distributions:
                return
            self.study.enqueue_trial(self.space.coordinates(trial.config))
            proposal = self.study.ask(self._distributions)
        for name, violation in constraints.items():
            proposal.set_constraint(name, violation)
        self.study.tell(proposal, WORST_US if trial.value_us is None else trial.value_us)

    def drop(self, proposal: Any) -> None:
        """A proposal that equals another one of its batch."""
        self.study.tell(proposal, state=self._optuna.trial.TrialState.FAIL)


def _storage(path: Path | None) -> Any:
    if path is None:
        return None
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path.parent.mkdir(parents=True, exist_ok=True)
    return JournalStorage(JournalFileBackend(str(path)))
