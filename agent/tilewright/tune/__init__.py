"""The tuner: the best Config of a Candidate's SPACE by modelled time, with every trial on record."""

from __future__ import annotations

from .records import Build, TrialRecord, TuneResult
from .search import tune

__all__ = ["Build", "TrialRecord", "TuneResult", "tune"]
