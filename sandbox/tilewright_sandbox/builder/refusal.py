"""How builder code stops a candidate: an exception, with stage and code, that `except Exception` does not swallow."""

from __future__ import annotations

from ..contract import Config, Rejected, Stage, Workload


class Refusal(BaseException):
    """The candidate broke a rule. It becomes a `Rejected`; raised where the rule was broken."""

    def __init__(self, stage: Stage, code: str, message: str, **evidence: bool | int | float | str) -> None:
        super().__init__(message)
        self.stage: Stage = stage
        self.code, self.message, self.evidence = code, message, evidence

    def rejected(self, candidate: str, config: Config | None = None, workload: Workload | None = None) -> Rejected:
        """The refusal as a record. `candidate` is the candidate's id."""
        return Rejected(
            candidate_id=candidate,
            stage=self.stage,
            code=self.code,
            message=self.message,
            evidence=self.evidence,
            config=config,
            workload=workload,
        )
