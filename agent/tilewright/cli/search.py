"""`optimize` and `resume`: the whole loop, with live progress on stderr and its outcome on stdout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from .output import INTERRUPTED, OK, REJECTED, USAGE, CommandError, Json, finish, note
from .specs import read_spec

if TYPE_CHECKING:
    from tilewright.loop.events import AnyEvent, Limits
    from tilewright.loop.view import RunView

EXIT = {"verified": OK, "no_win": OK, "exhausted": REJECTED, "refused": USAGE, "stopped": INTERRUPTED}

RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's path, id, the beginning of its id, or `latest`.")]
Rounds = Annotated[int | None, typer.Option(min=1, help="Rounds of proposals.")]
Minutes = Annotated[float | None, typer.Option(min=0.01, help="Wall minutes at work.")]
GpuSeconds = Annotated[float | None, typer.Option(min=0, help="Seconds on a GPU.")]
Usd = Annotated[float | None, typer.Option(min=0, help="US dollars for model calls.")]
JudgeName = Annotated[
    str, typer.Option(help="auto (this machine's device, else the interpreter), interpreter, device, or queue:FOLDER.")
]


def optimize(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A spec's folder, or the name of one under specs/.")],
    proposer: Annotated[list[str] | None, typer.Option(help="Who writes candidates; may be repeated.")] = None,
    rounds: Rounds = 3,
    trials: Annotated[int, typer.Option(min=1, help="Points of a candidate's SPACE to compile at most.")] = 24,
    budget_minutes: Minutes = 30.0,
    budget_gpu_seconds: GpuSeconds = None,
    budget_usd: Usd = None,
    sandbox: Annotated[str, typer.Option(help="auto, docker, bubblewrap or process.")] = "auto",
    target: Annotated[str, typer.Option(help="auto, or an architecture such as sm_90.")] = "auto",
    judge: JudgeName = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Of the search; verdicts have secret seeds of their own.")] = 0,
    json: Json = False,
) -> None:
    """Search for the best verified kernel of SPEC.

    Ctrl-C is safe: `tilewright resume latest` goes on. Exit 0 verified or no win, 1 exhausted, 2 usage or a spec that
    is refused, 3 machine trouble, 130 interrupted.
    """
    from tilewright.loop.budget import limits_from
    from tilewright.loop.folder import runs_root
    from tilewright.loop.runner import Options, start_run

    folder = read_spec(spec)
    judged_by = resolved_judge(judge)
    options = Options(
        limits=limits_from(rounds, budget_minutes, budget_gpu_seconds, budget_usd),
        target=target_for(target, judged_by),
        box=checked_box(sandbox),
        seed=seed,
        proposers=tuple(proposer or ["templates"]),
        trials=trials,
        judge=judged_by,
    )
    try:
        run_path = start_run(folder, options, runs_root())
    except ValueError as error:
        raise CommandError(str(error), "name one with --proposer") from error
    work(run_path, fresh=True, as_json=json)


def resume(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's path, id, the beginning of its id, or `latest`.")
    ] = "latest",
    rounds: Rounds = None,
    budget_minutes: Minutes = None,
    budget_gpu_seconds: GpuSeconds = None,
    budget_usd: Usd = None,
    json: Json = False,
) -> None:
    """Go on with a run that was stopped or killed, or with new budgets one whose winner was rejected.

    Nothing that its journal holds is done again. Budgets given here replace those of the run. The reason of a rejection
    steers the next round.
    """
    from tilewright.loop.budget import limits_from
    from tilewright.loop.folder import find_run
    from tilewright.loop.journal import read_journal
    from tilewright.loop.view import fold

    run_path = find_run(run)
    given = limits_from(rounds, budget_minutes, budget_gpu_seconds, budget_usd).model_dump(exclude_none=True)
    limits = fold(read_journal(run_path)).limits.model_copy(update=given) if given else None
    work(run_path, limits=limits, as_json=json)


def checked_box(name: str) -> str:
    if name not in ("auto", "docker", "bubblewrap", "process"):
        raise CommandError(f"--sandbox {name} is no box", "give auto, docker, bubblewrap or process")
    return name


def checked_target(name: str) -> str:
    from tilewright.doctor import resolve_target

    try:
        return resolve_target(name)
    except ValueError as error:
        raise CommandError(str(error), "leave --target out to take this machine's") from error


def resolved_judge(name: str) -> str:
    """What the run's options keep; CommandError where there is no judge of that name."""
    from tilewright.judge import resolve_judge

    try:
        return resolve_judge(name)
    except ValueError as error:
        raise CommandError(f"--judge: {error}", "give auto, interpreter, device or queue:FOLDER") from error


def target_for(name: str, judge: str) -> str:
    """The architecture to build for. A device of this machine runs no other than its own."""
    from tilewright.judge import local_target
    from tilewright_sandbox.targets import TARGETS

    here = local_target() if judge == "device" else None
    if here and here not in TARGETS:
        raise CommandError(
            f"this machine's device is {here}, of which no figures are known (of {', '.join(TARGETS)} they are)",
            "give --judge interpreter, or --judge queue:FOLDER",
        )
    target = checked_target(here if here and name == "auto" else name)
    if here and target != here:
        raise CommandError(f"--target {target} does not run on this machine's device, which is {here}", "leave it out")
    return target


def work(
    run_path: Path,
    *,
    as_json: bool,
    fresh: bool = False,
    limits: Limits | None = None,
    decision: dict[str, str] | None = None,
) -> NoReturn:
    """Drive the run with progress on stderr, and end with its outcome."""
    from tilewright.loop.runner import Watcher, drive

    from .interrupt import Interrupts
    from .progress import Progress

    with Progress(run_path) as progress, Interrupts(progress.on_step) as interrupts:

        def on_event(event: AnyEvent, view: RunView) -> None:
            interrupts.on_event(event)
            progress.on_event(event, view)

        watcher = Watcher(on_event=on_event, on_step=progress.on_step, stop_asked=interrupts.asked)
        view = drive(run_path, watcher=watcher, limits=limits, decision=decision, fresh=fresh)
    unfinished = view.stopped is not None and view.published is None
    if unfinished:
        note(f"go on with: tilewright resume {view.run.id}")
    report = None if unfinished else _write_report(run_path)
    status = status_of(view)
    finish(outcome(run_path, view, report), lambda: _page(run_path, view, report), as_json=as_json, code=EXIT[status])


def _write_report(run_path: Path) -> Path:
    from tilewright.report import write_report

    return write_report(run_path)


def status_of(view: RunView) -> str:
    """The status of DESIGN's `--json`: a run that waits for its review is verified, or a measured no-win."""
    if view.published:
        return view.published.status
    if view.awaits_review:
        return str(view.decided[-1].status)
    return "stopped"


def outcome(run_path: Path, view: RunView, report: Path | None) -> dict[str, Any]:
    """The one object that `optimize --json` ends with. `modelled_us` is a prediction; `measured_us` and
    `speedup` are only ever measured."""
    best, point, verdict = view.best, view.best_compared, view.best_verdict
    last = view.published.reason if view.published else view.decided[-1].reason if view.decided else ""
    return {
        "run": view.run.id,
        "status": status_of(view),
        "evidence": verdict.evidence if verdict else None,
        "candidate": best.id if best else None,
        "config": point.config.root if point and point.config else None,
        "speedup": view.speedup,
        "measured_us": view.measured_us,
        "modelled_us": point.modelled_us if point else None,
        "roofline_modelled_us": view.preflight.roofline_us if view.preflight else None,
        "reason": view.stopped.reason if view.stopped else last,
        "awaits_review": view.awaits_review,
        "candidates": len(view.candidates),
        "gpu_s": view.gpu_s,
        "path": str(run_path),
        "report": str(report) if report else None,
    }


def _page(run_path: Path, view: RunView, report: Path | None) -> None:

    from .pages import console, outcome_lines

    out = console()
    for line in outcome_lines(run_path, view, report, status_of(view)):
        out.print(line)
