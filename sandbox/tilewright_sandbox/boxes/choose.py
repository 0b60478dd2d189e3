"""Which box runs a candidate. Nothing degrades silently: where no box isolates, an untrusted candidate is refused."""

from __future__ import annotations

from ..contract import BoxReport, SandboxUnavailable
from .bubblewrap import BubblewrapBox
from .process import ProcessBox
from .protocol import Box

BUILT_IN_PROPOSERS = frozenset({"templates", "inductor"})
"""Proposers whose candidates are written by code that ships with Tilewright or with torch."""
NO_DOCKER = BoxReport(
    name="docker",
    usable=False,
    isolates=True,
    reason="this version has no docker box",
    fix="use --sandbox bubblewrap, which needs no daemon",
)


def is_trusted(proposer: str) -> bool:
    """Whether the candidates of this proposer may run in a plain process where no box isolates."""
    return proposer in BUILT_IN_PROPOSERS


def probe_all() -> tuple[BoxReport, ...]:
    """One report a box, strongest first."""
    return NO_DOCKER, BubblewrapBox().probe(), ProcessBox().probe()


def choose(name: str, *, trusted: bool) -> Box:
    """The box of that name, or for `auto` the strongest that works.

    SandboxUnavailable where the named box does not work, or where `auto` finds no box that isolates and the candidate
    is not trusted. ValueError for a name that is no box.
    """
    if name == "process":
        return ProcessBox()
    if name == "docker":
        raise SandboxUnavailable(f"the docker box cannot be used: {NO_DOCKER.reason}", NO_DOCKER.fix)
    if name not in ("auto", "bubblewrap"):
        raise ValueError(f"no box is named {name!r}; there are auto, docker, bubblewrap and process")
    box = BubblewrapBox()
    report = box.probe()
    if report.usable:
        return box
    if name == "bubblewrap":
        raise SandboxUnavailable(f"the bubblewrap box cannot be used: {report.reason}", report.fix)
    if trusted:
        return ProcessBox()
    raise SandboxUnavailable(
        f"no box isolates on this machine ({report.reason}), and this candidate is not built in",
        f"{report.fix}; or run it unprotected, with --sandbox process",
    )
