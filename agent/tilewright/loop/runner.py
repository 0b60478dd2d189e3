"""Start a run, drive it until it ends, waits for a person or is stopped, and take it up again."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tilewright.judge import Judge, open_judge
from tilewright.propose import Proposer
from tilewright_sandbox.boxes import choose, is_trusted
from tilewright_sandbox.contract import Run, SandboxUnavailable
from tilewright_sandbox.spec import SpecError, SpecFolder, load_spec
from tilewright_sandbox.targets import TARGETS

from . import events as ev
from .folder import CHECKPOINT, new_run_folder, new_run_id
from .graph import build_graph
from .journal import Journal, JournalError
from .search import Search, StopRequested
from .state import initial_state
from .view import RunView, fold

PACKAGES = ("tilewright", "torch", "triton", "numpy", "pydantic", "langgraph", "optuna")


@dataclass(frozen=True)
class Options:
    """What `optimize` was asked for. `target`, `box` and `judge` are already resolved: nothing changes between
    sessions."""

    limits: ev.Limits
    target: str
    box: str
    seed: int
    proposers: tuple[str, ...]
    trials: int
    """Points of a candidate's SPACE that are compiled at most."""
    judge: str = "interpreter"
    """As `open_judge` takes it, but for `auto`."""


@dataclass(frozen=True)
class Watcher:
    """Who is told: of every event, and of the step that begins."""

    on_event: Callable[[ev.AnyEvent, RunView], None] = lambda event, view: None
    on_step: Callable[[str], None] = lambda text: None
    stop_asked: Callable[[], bool] = lambda: False
    """Asked between two steps; the run stops there, and `resume` goes on."""


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def proposers_named(names: Sequence[str]) -> list[Proposer]:
    """ValueError for a name that is no proposer."""
    from tilewright.propose.templates import TemplateProposer

    known: dict[str, Callable[[], Proposer]] = {"templates": TemplateProposer}
    for name in names:
        if name not in known:
            raise ValueError(f"no proposer is named {name!r}; there is: {', '.join(known)}")
    return [known[name]() for name in names]


def start_run(spec_folder: SpecFolder, options: Options, root: Path) -> Path:
    """The run's folder, with a journal that holds its first event."""
    proposers_named(options.proposers)
    trusted = all(is_trusted(name) for name in options.proposers)
    box = choose(options.box, trusted=trusted).name
    run_id = new_run_id(spec_folder.spec.name)
    spec_path = spec_folder.path.resolve()
    if spec_path.is_relative_to(Path.cwd()):
        spec_path = spec_path.relative_to(Path.cwd())
    run = Run(
        id=run_id,
        spec=spec_folder.spec,
        spec_path=str(spec_path),
        target=options.target,
        seed=options.seed,
        options={"proposers": list(options.proposers), "trials": options.trials, "judge": options.judge},
        started_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions(),
    )
    with new_run_folder(root, run_id) as folder, Journal(folder) as journal:
        journal.append(ev.RunStarted(run=run, limits=options.limits, box=box))
    return root / run_id


def _spec_of(view: RunView) -> SpecFolder:
    """The spec's folder as it is now; SpecError where it is not what the run began with."""
    folder = load_spec(Path(view.run.spec_path).resolve())
    if folder.spec.sha256 != view.run.spec.sha256:
        raise SpecError(
            f"the spec has changed since {view.run.id} began",
            folder.path,
            fix="restore it, or start a new run with `tilewright optimize`",
        )
    return folder


def open_search(journal: Journal, view: RunView, judge: Judge, watcher: Watcher) -> Search:
    """The live side of a run. SpecError where its spec is gone or has changed."""
    return Search(
        journal=journal,
        view=view,
        spec_folder=_spec_of(view),
        judge=judge,
        proposers=proposers_named(view.run.options["proposers"]),
        target=TARGETS[view.run.target],
        on_event=watcher.on_event,
        announce=watcher.on_step,
        stop_asked=watcher.stop_asked,
    )


def drive(
    run_path: Path,
    *,
    watcher: Watcher | None = None,
    limits: ev.Limits | None = None,
    decision: dict[str, str] | None = None,
    fresh: bool = False,
) -> RunView:
    """Work on the run until it is published, waits for a review, or is stopped; the view then.

    `decision` answers the review that the run waits for: decision, note, reviewer. `limits` replaces its budgets; with
    new ones a run goes on that ended because its winner was rejected.
    SandboxUnavailable and SpecError leave a `stopped` event behind, as an interrupt does.
    """
    watcher = watcher or Watcher()
    with Journal(run_path) as journal:
        view = fold(journal.events)
        if view.published and not (limits and view.can_reopen):
            return view
        if decision and not view.awaits_review:
            raise JournalError(f"{view.run.id} does not wait for a review: {view.status}", "resume it first")
        ends = decision is not None and decision["decision"] != "send_back"
        with open_judge("interpreter" if ends else view.judge) as judge:  # an ending asks no judge: any machine will do
            search = open_search(journal, view, judge, watcher)
            if not fresh:
                search.record(ev.Resumed(torn_bytes=journal.torn_bytes, limits=limits))
            try:
                _invoke(search, decision)
            except (StopRequested, KeyboardInterrupt):
                search.record(ev.Stopped(reason="interrupted"))
            except (SandboxUnavailable, SpecError) as error:
                search.record(ev.Stopped(reason=str(error)))
                raise
        return view


def _invoke(search: Search, decision: dict[str, str] | None) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.types import Command

    run_id = search.view.run.id
    config: Any = {"configurable": {"thread_id": run_id}, "recursion_limit": 10_000}
    path = search.path / CHECKPOINT
    for attempt in range(2):
        with contextlib.closing(sqlite3.connect(path, check_same_thread=False)) as connection:
            graph = build_graph(lambda: search, SqliteSaver(connection))
            try:
                waiting = graph.get_state(config)
            except Exception as error:  # whatever is wrong with the checkpoint, the journal suffices
                if attempt:
                    raise
                search.announce(f"the checkpoint is unreadable ({type(error).__name__}); going on from the journal")
                connection.close()
                path.replace(path.with_suffix(f".damaged-{os.getpid()}"))
                continue
            at_review = waiting.next == ("review",) and bool(waiting.interrupts)
            if not at_review:
                # At its end the graph begins anew: the journal says what is done, a rejected run's next round is not.
                start = None if waiting.values and waiting.next else initial_state(run_id)
                graph.invoke(start, config, durability="sync")
            if decision:
                graph.invoke(Command(resume=decision), config, durability="sync")
            return
