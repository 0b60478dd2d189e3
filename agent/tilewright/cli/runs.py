"""`runs` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .output import Json, finish
from .search import RunName


def list_all(json: Json = False) -> None:
    """List the runs, oldest first."""
    from tilewright.loop.folder import list_runs, runs_root

    rows = [summary(path) for path in list_runs(runs_root())]
    finish({"runs": rows}, lambda: _page(rows), as_json=json)


def summary(path: Path) -> dict[str, Any]:
    """One run in a row. A journal that cannot be read is said to be so; the others are listed all the same."""
    from tilewright.loop.journal import JournalError, is_at_work, read_journal
    from tilewright.loop.view import fold

    try:
        view = fold(read_journal(path))
    except JournalError as error:
        return {"run": path.name, "status": "unreadable", "spec": None, "reason": str(error), "path": str(path)}
    best = view.best_compared
    killed = view.status == "running" and not is_at_work(path)
    return {
        "run": view.run.id,
        "spec": view.run.spec.name,
        "status": "killed" if killed else view.status,
        "target": view.run.target,
        "rounds": view.round,
        "candidates": len(view.candidates),
        "modelled_us": best.modelled_us if best else None,
        "measured_us": view.measured_us,
        "speedup": view.speedup,
        "gpu_s": view.gpu_s,
        "wall_s": round(view.wall_s, 1),
        "usd": view.usd,
        "path": str(path),
    }


def _page(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from .pages import best_text, console

    out = console()
    if not rows:
        out.print("no runs yet; start one with `tilewright optimize SPEC`")
        return
    table = Table("run", "status", "rounds", "candidates", "best", box=None, pad_edge=False, header_style="dim")
    for row in rows:
        if row["status"] == "unreadable":
            table.add_row(row["run"], "[red]unreadable[/]", "", "", row["reason"])
        else:
            best = best_text(row["measured_us"], row["modelled_us"])
            table.add_row(row["run"], row["status"], str(row["rounds"]), str(row["candidates"]), best)
    out.print(table)


def report(run: RunName = "latest", json: Json = False) -> None:
    """Write report.html of a run, from its journal alone."""
    from tilewright.loop.folder import find_run

    run_path = find_run(run)
    from tilewright.report import write_report

    path = write_report(run_path)
    finish({"report": str(path)}, lambda: print(path), as_json=json)
