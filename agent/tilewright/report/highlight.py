"""Python source as highlighted HTML, a line each, and the style rules of its token classes."""

from __future__ import annotations

from markupsafe import Markup
from pygments import highlight as pygments_highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer


def highlight(source: str) -> tuple[Markup, ...]:
    """Escaped and highlighted lines of the source, without its last newline."""
    formatter = HtmlFormatter(nowrap=True)
    marked = pygments_highlight(source, PythonLexer(stripnl=False, ensurenl=True), formatter)
    return tuple(Markup(line) for line in marked.removesuffix("\n").split("\n"))
