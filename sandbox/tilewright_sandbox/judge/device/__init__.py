"""The judge on a device: loads cubins, owns every buffer, compares and times. No candidate code runs here."""

from __future__ import annotations
