"""Tilewright's agent: decides what to try, keeps the journal, and imports neither torch nor triton."""

from __future__ import annotations

__version__ = "0.1.0"
