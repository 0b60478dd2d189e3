"""`write_report`: the journal folded, gathered and rendered into one file."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tilewright.loop.journal import read_journal
from tilewright.loop.view import fold
from tilewright_sandbox.whole_file import write_whole

from .data import ReportData
from .gather import gather

FILE = "report.html"


def render(data: ReportData) -> str:
    """The page as HTML. Every value is escaped but the plots and the highlighted source, which escape their own."""
    loader = PackageLoader("tilewright.report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style = Markup(loader.get_source(environment, "style.css")[0])
    return environment.get_template("report.html").render(data=data, style=style)


def write_report(run_path: Path) -> Path:
    """Write `report.html` in the run's folder, whole or not at all, and answer its path. JournalError as `fold`."""
    path = run_path / FILE
    write_whole(path, render(gather(run_path, fold(read_journal(run_path)))).encode())
    return path
