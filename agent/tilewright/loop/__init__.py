"""The loop: journal, budgets, graph. The journal is the only source of truth; everything else is folded from it."""

from __future__ import annotations
