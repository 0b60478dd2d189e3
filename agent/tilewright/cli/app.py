"""Every command, and what becomes of an error: one line that says what, where and how to mend it; never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from . import candidates, judging, machine, review, runs, search, specs
from .output import INTERRUPTED, MACHINE, OK, USAGE, CommandError, fail, save_traceback

app = typer.Typer(
    name="tilewright",
    help="Search for a Triton kernel that is faster than the PyTorch reference and equivalent to it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(machine.doctor)
app.add_typer(specs.app, name="spec")
app.command()(search.optimize)
app.command()(search.resume)
app.command()(candidates.verify)
app.command()(candidates.tune)
app.command()(judging.bench)
app.command()(judging.judge)
app.command()(judging.selftest)
app.command("runs")(runs.list_all)
app.command()(runs.report)
app.command()(review.review)
app.command()(review.accept)
app.command()(review.reject)

UsageError = typer.BadParameter.__mro__[1]
"""The parser's own error: a wrong option, a missing argument."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code. Nothing escapes but what the interpreter itself raises."""
    as_json = "--json" in arguments
    try:
        result = app(list(arguments), standalone_mode=False)
        return result if isinstance(result, int) else OK
    except typer.Exit as ended:
        return int(ended.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return fail(
            "interrupted", "stopped at once", "`tilewright runs` shows what to resume", INTERRUPTED, as_json=as_json
        )
    except BrokenPipeError:
        sys.stderr.close()
        return OK
    except Exception as error:
        return _explain(error, as_json)


def _explain(error: Exception, as_json: bool) -> int:
    from tilewright.loop.journal import JournalError
    from tilewright_sandbox.contract import SandboxUnavailable
    from tilewright_sandbox.spec import SpecError

    if isinstance(error, UsageError):
        message = str(getattr(error, "format_message", error.__str__)())
        if not message:
            return OK  # no arguments: the help was printed
        return fail("usage", message, "add --help to see what is possible", USAGE, as_json=as_json)
    if isinstance(error, CommandError | JournalError):
        return fail("error", error.what, error.fix, USAGE, as_json=as_json)
    if isinstance(error, SpecError):
        return fail("spec error", str(error), "", USAGE, as_json=as_json)
    if isinstance(error, SandboxUnavailable):
        return fail("machine", error.what, error.fix, MACHINE, as_json=as_json)
    path = save_traceback()
    what = f"{type(error).__name__} (details in {path})"
    return fail("internal error", what, "this is a defect of Tilewright's; please report it", MACHINE, as_json=as_json)
