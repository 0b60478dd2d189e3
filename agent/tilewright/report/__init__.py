"""`report.html`: one page about one run, made from its journal alone, with nothing to load and nothing to run."""

from __future__ import annotations

from .page import write_report

__all__ = ["write_report"]
