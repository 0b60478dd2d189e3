"""`review`, `accept`, `reject`: a person's word on the winner of a run."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import OK, REJECTED, CommandError, Json, finish
from .search import RunName

if TYPE_CHECKING:
    from tilewright.loop.view import RunView

CHOICES = {"a": "approve", "b": "send_back", "r": "reject", "s": "stop", "q": ""}


def review(
    run: RunName = "latest",
    approve: Annotated[bool, typer.Option("--approve", help="Approve the winner.")] = False,
    send_back: Annotated[str | None, typer.Option(metavar="NOTE", help="Search on, steered by NOTE.")] = None,
    reject: Annotated[str | None, typer.Option(metavar="REASON", help="Reject the winner.")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="End the run without a decision on its winner.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the evidence and decide nothing.")] = False,
    json: Json = False,
) -> None:
    """Read the evidence of a run's winner and decide on it.

    On a terminal you are asked; in a script give one of the options. `--send-back` searches on at once.
    """
    from tilewright.loop.folder import find_run
    from tilewright.loop.journal import read_journal
    from tilewright.loop.view import fold

    given = [("approve", "")] * approve + [("stop", "")] * stop
    given += [("send_back", send_back)] if send_back is not None else []
    given += [("reject", reject)] if reject is not None else []
    if len(given) + show > 1:
        raise CommandError("more than one decision was given", "give one of --approve, --send-back, --reject, --stop")
    path = find_run(run)
    view = fold(read_journal(path))
    if not given:
        if not json:
            _page(view)
        given = [] if show or json or not view.awaits_review or not sys.stdin.isatty() else _ask()
    if given:
        decide(path, view, *given[0], as_json=json)
    finish(evidence(view), lambda: _hint(view), as_json=json)


def decide(path: Path, view: RunView, decision: str, note: str, *, as_json: bool) -> None:
    """Write the decision; after `send_back` the search goes on at once."""
    from .search import work

    if decision in ("send_back", "reject") and not note.strip():
        raise CommandError(f"{decision.replace('_', ' ')} needs a reason", "say what the next round should mend")
    if not view.awaits_review:
        fix = "it has ended" if view.published else f"finish it with `tilewright resume {view.run.id}`"
        raise CommandError(f"{view.run.id} does not wait for a review: {view.status}", fix)
    work(path, as_json=as_json, decision={"decision": decision, "note": note.strip(), "reviewer": getpass.getuser()})


def _ask() -> list[tuple[str, str]]:
    answer = typer.prompt("[a]pprove, send [b]ack, [r]eject, [s]top the run, [q]uit", default="q", err=True)
    decision = CHOICES.get(answer.strip().lower()[:1])
    if decision is None:
        raise CommandError(f"{answer!r} is no decision", "answer a, b, r, s or q")
    if not decision:
        return []
    needs_note = decision in ("send_back", "reject")
    return [(decision, typer.prompt("note" if decision == "send_back" else "reason", err=True) if needs_note else "")]


def evidence(view: RunView) -> dict[str, Any]:
    """What a reviewer must see, as JSON."""
    verdict, point, best = view.best_verdict, view.best_compared, view.best
    return {
        "run": view.run.id,
        "status": view.status,
        "awaits_review": view.awaits_review,
        "candidate": best.id if best else None,
        "config": point.config.root if point and point.config else None,
        "modelled_us": point.modelled_us if point else None,
        "measured_us": view.measured_us,
        "speedup": view.speedup,
        "verdict": verdict.model_dump(mode="json") if verdict else None,
        "obstacles": list(view.obstacles),
        "source": best.candidate.source if best else None,
    }


def _page(view: RunView) -> None:
    from rich.markup import escape
    from rich.syntax import Syntax

    from .pages import checks_table, console, obstacles_lines, times_lines, verdict_line

    out = console()
    out.print(f"[bold]{view.run.id}[/] · {escape(view.run.spec.summary)} · {view.status}")
    if view.best is None or view.best_verdict is None:
        out.print("there is no verified kernel to review")
        return
    out.print(verdict_line(view.best_verdict), soft_wrap=True)
    out.print(checks_table(view.best_verdict.checks))
    for line in times_lines(view.best_verdict.times):
        out.print(line, soft_wrap=True)
    out.print(
        Syntax(view.best.candidate.source, "python", background_color="default", line_numbers=True, word_wrap=True)
    )
    out.print(f"config: {view.best_verdict.config}")
    for line in obstacles_lines(view.obstacles):
        out.print(line, soft_wrap=True)


def _hint(view: RunView) -> None:
    if view.awaits_review:
        print("nothing decided; use --approve, --send-back NOTE, --reject REASON or --stop")


def accept(
    run: RunName = "latest",
    reason: Annotated[str, typer.Option(help="Kept in the journal.")] = "",
    json: Json = False,
) -> None:
    """Accept a run's winner as the spec's kernel.

    It is verified and timed once more by a fresh judge of the run's kind, with fresh seeds. Refused, with every reason
    and exit 1, unless both measurements clear min_speedup on every bench workload.
    """
    from tilewright.accept import accept as take
    from tilewright.loop.events import Accepted
    from tilewright.loop.folder import find_run

    path = find_run(run)
    result = take(path, reason=reason)
    accepted = isinstance(result, Accepted)
    payload = {
        "run": path.name,
        "accepted": accepted,
        "candidate": result.candidate_id,
        "path": result.path if isinstance(result, Accepted) else None,
        "obstacles": [] if isinstance(result, Accepted) else list(result.obstacles),
    }
    finish(payload, lambda: _acceptance_page(payload), as_json=json, code=OK if accepted else REJECTED)


def _acceptance_page(payload: dict[str, Any]) -> None:
    if payload["accepted"]:
        print(f"accepted: {payload['path']}")
        return
    print(f"refused: {payload['run']}")
    for obstacle in payload["obstacles"]:
        print(f"  · {obstacle}")


def reject(
    run: RunName,
    reason: Annotated[str, typer.Option(help="Why; kept in the journal.")],
    json: Json = False,
) -> None:
    """Reject the winner of a run that waits for its review.

    The run ends. `resume` with new budgets searches on, and the reason steers its next round.
    """
    from tilewright.loop.folder import find_run
    from tilewright.loop.journal import read_journal
    from tilewright.loop.view import fold

    path = find_run(run)
    decide(path, fold(read_journal(path)), "reject", reason, as_json=json)
