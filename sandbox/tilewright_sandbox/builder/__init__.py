"""The untrusted half: candidate Python runs here, inside a box, and nowhere else. It answers with Plans or bytes."""

from __future__ import annotations
