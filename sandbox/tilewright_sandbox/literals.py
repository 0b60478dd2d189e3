"""SPACE, WHERE and TRIALS as they stand in a candidate's source: literals, read with `ast`, nothing executed."""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Mapping

from .contract import Config, ConfigValue
from .expressions import Kind, Where, WhereError, compile_where

MAX_POINTS = 10_000_000
MAX_BITS = 63

Space = dict[str, tuple[ConfigValue, ...]]


class Defect(Exception):
    """What is wrong with a source, at which line (0 where there is none), and how to mend it."""

    def __init__(self, code: str, line: int, what: str, mend: str) -> None:
        super().__init__(what)
        self.code, self.line, self.what, self.mend = code, line, what, mend


def read_space(node: ast.expr) -> Space:
    """Choices by name, in the order of the source."""
    if not isinstance(node, ast.Dict):
        raise Defect(
            "space_not_literal", node.lineno, "SPACE is not a literal dict", 'Write SPACE = {"BLOCK": [64, 128]}.'
        )
    space: Space = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = _space_name(key, value)
        if name in space:
            raise Defect("duplicate_name", value.lineno, f"SPACE names {name} twice", "Merge the two lists.")
        space[name] = _choices(name, value)
    points = math.prod(len(choices) for choices in space.values())
    if points > MAX_POINTS:
        raise Defect(
            "space_too_large", node.lineno, f"SPACE has {points:,} points, more than {MAX_POINTS:,}",
            "Take fewer choices, such as powers of two.",
        )  # fmt: skip
    return space


def _space_name(key: ast.expr | None, value: ast.expr) -> str:
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        raise Defect("space_not_literal", value.lineno, "a key of SPACE is not a literal name", "Write every name out.")
    if not key.value.isidentifier() or keyword.iskeyword(key.value):
        raise Defect(
            "space_not_literal",
            key.lineno,
            f"{key.value!r} in SPACE is no name",
            "Take the name of a parameter of run.",
        )
    return key.value


def _choices(name: str, node: ast.expr) -> tuple[ConfigValue, ...]:
    elements = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    choices = tuple(_scalar(f"SPACE[{name!r}]", element, "space_not_literal") for element in elements)
    if not choices:
        raise Defect("no_choices", node.lineno, f"SPACE[{name!r}] has no choices", "Give at least one value.")
    kinds = sorted({type(choice).__name__ for choice in choices})
    if len(kinds) > 1:
        raise Defect("mixed_types", node.lineno, f"SPACE[{name!r}] mixes {' and '.join(kinds)}", "Keep to one type.")
    if repeated := [choice for choice in choices if choices.count(choice) > 1]:
        raise Defect(
            "duplicate_choice", node.lineno, f"SPACE[{name!r}] lists {repeated[0]!r} twice", "List every choice once."
        )
    return choices


def _shown(node: ast.expr) -> str:
    """The expression as a message quotes it."""
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "a deeply nested expression"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _scalar(what: str, node: ast.expr, code: str) -> ConfigValue:
    mend = "Use a literal int, float, bool or str: candidates are read, not executed."
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise Defect(code, node.lineno, f"{what} holds `{_shown(node)}`, which is not a literal", mend) from error
    if not isinstance(value, bool | int | float | str):
        raise Defect(code, node.lineno, f"{what} holds a {type(value).__name__}", mend)
    out_of_range = isinstance(value, int) and value.bit_length() > MAX_BITS
    if out_of_range or (isinstance(value, float) and not math.isfinite(value)):
        raise Defect(code, node.lineno, f"{what} holds a number out of range", "Keep to finite 64-bit numbers.")
    return value


def read_trials(node: ast.expr, space: Space) -> tuple[Config, ...]:
    """First guesses, each a point of SPACE. A name with one choice may be left out."""
    example = "Write TRIALS as a list of dicts, one per guess, with a value of SPACE for every name."
    if not isinstance(node, ast.List | ast.Tuple):
        raise Defect("trials_not_literal", node.lineno, "TRIALS is not a literal list", example)
    trials: list[Config] = []
    for element in node.elts:
        if not isinstance(element, ast.Dict):
            raise Defect("trials_not_literal", element.lineno, "an entry of TRIALS is not a literal dict", example)
        trial = _trial(element, space)
        if trial in trials:
            raise Defect("duplicate_trial", element.lineno, f"TRIALS lists {trial} twice", "List every guess once.")
        trials.append(trial)
    return tuple(trials)


def _trial(node: ast.Dict, space: Space) -> Config:
    given: dict[str, ConfigValue] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = key.value if isinstance(key, ast.Constant) else None
        if not isinstance(name, str) or name not in space:
            shown = _shown(key) if key else "**"
            raise Defect(
                "trial_unknown_name", value.lineno, f"TRIALS names {shown}, which SPACE does not have",
                f"Names of SPACE are {', '.join(space) or 'none'}.",
            )  # fmt: skip
        if name in given:
            raise Defect("duplicate_name", value.lineno, f"a trial names {name} twice", "Give one value.")
        given[name] = _scalar(f"TRIALS[{name!r}]", value, "trials_not_literal")
        if not any(type(choice) is type(given[name]) and choice == given[name] for choice in space[name]):
            raise Defect(
                "trial_outside_space", value.lineno, f"the trial's {name}={given[name]!r} is no choice of SPACE",
                f"Take one of {list(space[name])}, or add it to SPACE.",
            )  # fmt: skip
    missing = [name for name, choices in space.items() if name not in given and len(choices) > 1]
    if missing:
        raise Defect("trial_incomplete", node.lineno, f"a trial gives no {missing[0]}", "Give every name of SPACE.")
    return Config({name: given.get(name, choices[0]) for name, choices in space.items()})


def read_where(node: ast.expr, space: Space, axes: Mapping[str, object] | None) -> tuple[str, ...]:
    """Conditions as text. Names and types are checked where the axes are known."""
    if not isinstance(node, ast.List | ast.Tuple):
        raise Defect(
            "where_not_literal", node.lineno, "WHERE is not a literal list", 'Write WHERE = ["BLOCK >= hidden"].'
        )
    texts = []
    for element in node.elts:
        if not isinstance(element, ast.Constant) or not isinstance(element.value, str):
            raise Defect("where_not_literal", element.lineno, "an entry of WHERE is not a string", "Put it in quotes.")
        try:
            _check_where(compile_where(element.value), space, axes)
        except WhereError as error:
            message = str(error)
            raise Defect("where_not_valid", element.lineno, f"WHERE: {message}", "") from error
        texts.append(element.value)
    return tuple(texts)


def _check_where(where: Where, space: Space, axes: Mapping[str, object] | None) -> None:
    kinds: dict[str, Kind] = {name: _kind_of(choices[0]) for name, choices in space.items()}
    others = where.names - space.keys() if axes is None else axes.keys()
    number: Kind = "number"
    kinds |= dict.fromkeys(others, number)
    where.check_kinds(kinds)


def _kind_of(value: ConfigValue) -> Kind:
    return "bool" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
