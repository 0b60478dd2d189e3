"""Tune: search the SPACE of the round's best candidates; every trial is in the journal and none is built twice."""

from __future__ import annotations

FINALISTS = 3
"""Candidates of a round that are tuned."""
