"""`doctor`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from .output import MACHINE, OK, Json, finish

if TYPE_CHECKING:
    from tilewright.doctor import Finding


def doctor(json: Json = False) -> None:
    """What this machine can do, and the exact fix for what it cannot.

    Exit 0 if `optimize` can run here, 3 if it cannot.
    """
    from tilewright.doctor import can_optimize, examine

    findings = examine()
    usable = can_optimize(findings)
    rows = [asdict(finding) | ({"fix": ""} if finding.ok else {}) for finding in findings]
    payload = {"usable": usable, "findings": rows}
    finish(payload, lambda: _page(findings, usable), as_json=json, code=OK if usable else MACHINE)


def _page(findings: list[Finding], usable: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    from .pages import console

    out = console()
    table = Table("", "", "found", "enables", box=None, pad_edge=False, header_style="dim")
    for finding in findings:
        mark = "[green]✓[/]" if finding.ok else "[red]✗[/]" if finding.required else "[yellow]–[/]"
        table.add_row(mark, finding.name, escape(finding.found), finding.enables)
    out.print(table)
    for finding in findings:
        if not finding.ok and finding.fix:
            out.print(f"{finding.name}: {escape(finding.fix)}", soft_wrap=True)
    out.print("[green]`tilewright optimize` can run here.[/]" if usable else "[red]`optimize` cannot run here.[/]")
