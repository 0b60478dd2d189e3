"""Tilewright's sandbox: the contract, the boxes, the builder that runs candidates and the judge that does not."""

from __future__ import annotations
