"""`verify` and `tune`: one candidate from a file. A file is a person's: it runs only in a box that isolates, or where
the person says `--sandbox process` aloud."""

from __future__ import annotations

import ast
import difflib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from .output import OK, REJECTED, CommandError, Json, finish, note
from .search import JudgeName as JudgeName
from .search import checked_box, checked_target
from .specs import read_spec

if TYPE_CHECKING:
    from tilewright.judge import Judge
    from tilewright.tune import TuneResult
    from tilewright_sandbox.contract import Candidate, Config, ConfigValue, Measured, Rejected, Spec
    from tilewright_sandbox.spec import SpecFolder

SHOWN = 10
"""Trials on the page of `tune`, best first; with those that have no time."""

SpecName = Annotated[str, typer.Argument(metavar="SPEC", help="A spec's folder, or the name of one under specs/.")]
CandidateFile = Annotated[
    Path, typer.Argument(metavar="CANDIDATE", help="A Python file: Triton kernels, run(...), SPACE.")
]
Sandbox = Annotated[str, typer.Option(help="auto, docker, bubblewrap or process.")]
TargetName = Annotated[str, typer.Option(help="auto, or an architecture such as sm_90.")]


def verify(
    spec: SpecName,
    candidate: CandidateFile,
    config: Annotated[list[str] | None, typer.Option(help="NAME=VALUE; may be repeated.")] = None,
    sandbox: Sandbox = "auto",
    target: TargetName = "auto",
    judge: JudgeName = "auto",
    json: Json = False,
) -> None:
    """One verdict on one config of a candidate.

    A file is a person's: it runs only in a box that isolates, or where you say `--sandbox process`. On a device the
    bench workloads are timed. Exit 0 passed, 1 rejected, 2 usage or spec error, 3 machine trouble.
    """
    from tilewright.verify import verify as give_verdict
    from tilewright_sandbox.contract import Rejected

    folder, parsed = read(spec, candidate)
    box, card = checked_box(sandbox), checked_target(target)
    if isinstance(parsed, Rejected):
        _finish_verdict(parsed, json)
    chosen = chosen_config(config or [], folder.spec, parsed)
    note(f"verifying {candidate} against {folder.spec.name} on {card} …")
    with tempfile.TemporaryDirectory(prefix="tilewright-blobs-") as blobs, checked_judge(judge) as opened:
        verdict = give_verdict(
            folder, parsed, config=chosen, box=box, target=card, judge=opened, blobs_path=Path(blobs), on=opened.on,
            timed=opened.on == "device",
        )  # fmt: skip
    _finish_verdict(verdict, json)


def checked_judge(name: str) -> Judge:
    """The judge of that name; CommandError where there is no such name."""
    from tilewright.judge import open_judge

    try:
        return open_judge(name)
    except ValueError as error:
        raise CommandError(f"--judge: {error}", "auto, interpreter, device or queue:FOLDER") from error


def _finish_verdict(verdict: Measured | Rejected, as_json: bool) -> NoReturn:
    code = OK if verdict.verdict == "measured" else REJECTED
    payload = verdict.model_dump(mode="json")
    if verdict.verdict == "measured":
        payload["obstacles"] = list(verdict.obstacles)
    finish(payload, lambda: _verdict_page(verdict), as_json=as_json, code=code)


def _verdict_page(verdict: Measured | Rejected) -> None:

    from .pages import checks_table, console, obstacles_lines, times_lines, verdict_line

    out = console()
    out.print(verdict_line(verdict), soft_wrap=True)
    if verdict.config is not None:
        out.print(f"config: {verdict.config}")
    if verdict.checks:
        out.print(checks_table(verdict.checks))
    if verdict.verdict == "measured":
        for line in (*times_lines(verdict.times), *obstacles_lines(verdict.obstacles)):
            out.print(line, soft_wrap=True)


def tune(
    spec: SpecName,
    candidate: CandidateFile,
    trials: Annotated[int, typer.Option(min=1, help="Points of SPACE to compile.")] = 24,
    sandbox: Sandbox = "auto",
    target: TargetName = "auto",
    seed: Annotated[int, typer.Option(min=0)] = 0,
    json: Json = False,
) -> None:
    """Search a candidate's SPACE by modelled time.

    Its equivalence is not judged: `verify` does that.
    """
    from tilewright.loop.tuning import open_tuner
    from tilewright.tune import tune as search_space
    from tilewright_sandbox.contract import Rejected
    from tilewright_sandbox.targets import TARGETS

    folder, parsed = read(spec, candidate)
    box, card = checked_box(sandbox), checked_target(target)
    if isinstance(parsed, Rejected):
        _finish_verdict(parsed, json)
    note(f"tuning {candidate} on {card}: {trials} trials at most …")
    with (
        tempfile.TemporaryDirectory(prefix="tilewright-blobs-") as blobs,
        open_tuner(folder.spec, parsed, box, card, Path(blobs)) as build,
    ):
        result = search_space(parsed, folder.spec, TARGETS[card], build, trials=trials, seed=seed)
    code = OK if result.best is not None else REJECTED
    finish(result.model_dump(mode="json"), lambda: _tune_page(result), as_json=json, code=code)


def read(spec: str, path: Path) -> tuple[SpecFolder, Candidate | Rejected]:
    """The spec and the candidate in the file. CommandError where there is no such file."""
    from tilewright_sandbox.candidate import parse_candidate

    folder = read_spec(spec)
    try:
        source = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}", "give the path of a candidate's Python file") from error
    return folder, parse_candidate(source, proposer="person", title=path.stem, filename=path.name, spec=folder.spec)


def chosen_config(words: Sequence[str], spec: Spec, candidate: Candidate) -> Config | None:
    """`NAME=VALUE …` over the default config; None where nothing was given."""
    from tilewright.verify import default_config
    from tilewright_sandbox.contract import Config

    given: dict[str, ConfigValue] = {}
    for word in " ".join(words).replace(",", " ").split():
        name, equals, text = word.partition("=")
        if not equals:
            raise CommandError(f"--config {word!r} is not NAME=VALUE", "for example --config BLOCK=1024")
        if name not in candidate.space:
            near = difflib.get_close_matches(name, candidate.space, 1)
            known = f"did you mean {near[0]}?" if near else f"SPACE has {', '.join(candidate.space) or 'no parameters'}"
            raise CommandError(f"--config {name} is not in the candidate's SPACE", known)
        given[name] = _in_space(name, text, candidate.space[name])
    if not given:
        return None
    default = default_config(spec, candidate)
    point = {**(default.root if default else {}), **given}
    if missing := [name for name in candidate.space if name not in point]:
        raise CommandError(f"the config lacks {', '.join(missing)}", "give every name of SPACE with --config")
    return Config(point)


def _in_space(name: str, text: str, choices: Sequence[ConfigValue]) -> ConfigValue:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    raise CommandError(f"--config {name}={text} is not one of SPACE's values", f"choose from {list(choices)}")


def _tune_page(result: TuneResult) -> None:
    from rich.markup import escape
    from rich.table import Table

    from .pages import console, modelled

    out = console()
    table = Table("trial", "config", "", "", box=None, pad_edge=False, header_style="dim")
    timed = sorted((trial for trial in result.trials if trial.value_us is not None), key=lambda trial: trial.rank)
    for trial in (*timed[:SHOWN], *(trial for trial in result.trials if trial.value_us is None)):
        table.add_row(str(trial.number), escape(str(trial.config)), modelled(trial.value_us), escape(trial.reason))
    out.print(table)
    if result.importance:
        shares = " · ".join(f"{name} {share:.0%}" for name, share in result.importance.items())
        out.print(f"what mattered: {escape(shares)}")
    found = f"best: {result.best}, {modelled(result.value_us)}" if result.best else "no point could be built"
    out.print(f"{escape(found)} · {result.ended} · {result.seconds:.1f} s · equivalence was not judged")
