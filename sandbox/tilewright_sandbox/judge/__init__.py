"""The judge: trusted, never imports candidate code. Owns reference, inputs, oracle and the verdict."""

from __future__ import annotations
