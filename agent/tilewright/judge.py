"""Who gives verdicts: a judge process on this machine."""

from __future__ import annotations

from tilewright_sandbox.judge_process import JudgeProcess

__all__ = ["JudgeProcess"]
