"""`spec new`, `spec check`, `spec list`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import OK, USAGE, Json, finish

if TYPE_CHECKING:
    from tilewright_sandbox.jobs import AuditReport
    from tilewright_sandbox.spec import SpecFolder

app = typer.Typer(help="Write, check and list specs.", no_args_is_help=True)


def read_spec(word: str) -> SpecFolder:
    """The spec that a person names, at a path that holds in every working folder. SpecError says it as they did."""
    from dataclasses import replace

    from tilewright_sandbox.spec import find_spec, load_spec

    folder = load_spec(find_spec(word))
    return replace(folder, path=folder.path.resolve())


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and underscores.")],
    into: Annotated[Path, typer.Option(help="The folder that will hold the spec's folder.")] = Path("specs"),
    json: Json = False,
) -> None:
    """Write a commented spec that works as it stands, to be changed into yours."""
    from tilewright_sandbox.spec import scaffold_spec

    path = scaffold_spec(name, into)
    text = f"{path}\nedit spec.toml and reference.py, then: tilewright spec check {path}"
    finish({"spec": name, "path": str(path)}, lambda: print(text), as_json=json)


@app.command()
def check(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A spec's folder, or the name of one under specs/.")],
    seed: Annotated[int, typer.Option(min=0, help="Of the audit's inputs.")] = 0,
    json: Json = False,
) -> None:
    """Read a spec and audit its reference: is it worth searching? Exit 2 if not."""
    from tilewright.judge import JudgeProcess
    from tilewright_sandbox.jobs import AuditReport, AuditRequest

    folder = read_spec(spec)
    with JudgeProcess() as judge:
        report = judge.ask(AuditRequest(spec_path=str(folder.path), seed=seed), AuditReport)
    payload = {"spec": folder.spec.name, "sound": report.sound, **report.model_dump(mode="json")}
    finish(payload, lambda: _page(folder, report), as_json=json, code=OK if report.sound else USAGE)


def _page(folder: SpecFolder, report: AuditReport) -> None:
    from rich.markup import escape
    from rich.table import Table

    from .pages import MARK, console

    out = console()
    table = Table("finding", "", "", box=None, pad_edge=False, show_header=False)
    for finding in report.findings:
        table.add_row(finding.name, MARK[finding.status], escape(finding.message))
    out.print(table)
    word = "[green]sound[/]" if report.sound else "[red]not sound: it will not be searched[/]"
    out.print(f"{escape(folder.spec.name)}: {word}")


@app.command("list")
def list_all(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that holds specs.")] = Path("specs"),
    json: Json = False,
) -> None:
    """List the specs of a folder; one that cannot be read is listed with its error."""
    from tilewright_sandbox.spec import list_specs

    rows = [_row(path) for path in list_specs(folder)]
    finish({"specs": rows}, lambda: _list_page(folder, rows), as_json=json)


def _row(path: Path) -> dict[str, str | None]:
    from tilewright_sandbox.spec import SpecError, load_spec

    try:
        spec = load_spec(path).spec
    except SpecError as error:
        return {"name": path.name, "summary": None, "path": str(path), "error": str(error)}
    return {"name": spec.name, "summary": spec.summary, "path": str(path), "error": None}


def _list_page(folder: Path, rows: list[dict[str, str | None]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from .pages import console

    out = console()
    if not rows:
        out.print(f"no specs in {folder}/; write one with `tilewright spec new NAME`")
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        found = f"[red]{escape(row['error'])}[/]" if row["error"] else escape(row["summary"] or "")
        table.add_row(f"[bold]{row['name']}[/]", found)
    out.print(table)
