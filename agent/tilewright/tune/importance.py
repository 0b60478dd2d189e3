"""Which parameters of SPACE mattered: Optuna's importance over the trials that have a time."""

from __future__ import annotations

from collections.abc import Sequence

from .records import TrialRecord
from .space import SearchSpace

FEWEST_TRIALS = 6
"""Fewer say nothing about importance."""


def parameter_importance(space: SearchSpace, trials: Sequence[TrialRecord], seed: int) -> dict[str, float]:
    """Share of each parameter, most important first, adding up to 1. Empty where the trials cannot tell.

    Taken over feasible trials alone: with forbidden ones among them the shares would show what WHERE forbids.
    """
    timed = [trial for trial in trials if trial.value_us is not None]
    values = {trial.value_us for trial in timed}
    if len(timed) < FEWEST_TRIALS or len(values) < 2 or not space.parameters:
        return {}
    import optuna

    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.RandomSampler(seed=seed))
    distributions = {parameter.name: parameter.distribution() for parameter in space.parameters}
    study.add_trials(
        optuna.trial.create_trial(
            params=dict(space.coordinates(trial.config)), distributions=distributions, value=trial.value_us
        )
        for trial in timed
    )
    shares = optuna.importance.get_param_importances(study)
    total = sum(shares.values())
    if not total > 0:
        return {}
    return {name: round(share / total, 4) for name, share in sorted(shares.items(), key=lambda item: -item[1])}
