"""`python -m tilewright`."""

from __future__ import annotations

from .cli import main

main()
