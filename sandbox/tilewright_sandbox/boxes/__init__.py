"""Isolation boundaries. `choose` picks one, `Box.start` gives a live session, `client` speaks to it in records."""

from __future__ import annotations

from .choose import choose, is_trusted, probe_all
from .protocol import Box, Exchange, Role, Session

__all__ = ["Box", "Exchange", "Role", "Session", "choose", "is_trusted", "probe_all"]
