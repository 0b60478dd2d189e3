"""`parse_candidate`: one source file as a Candidate, read with `ast`. Nothing of it is imported or executed.

What is wrong with a source is a `Rejected` at stage `source` with one message: file and line, what, and how to mend it.
What the source may *do* is not judged here but by `builder.policy`.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterator

from .contract import Candidate, Config, Rejected, Spec, candidate_id
from .literals import Defect, Space, read_space, read_trials, read_where

FILENAME = "candidate.py"
MAX_BYTES = 200_000
_HIDDEN = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200c\u200d\u2060")
"""Characters that make a source look different from what it is: writing directions and zero widths."""
_LITERALS = ("SPACE", "WHERE", "TRIALS")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parse_candidate(
    source: str | bytes,
    *,
    proposer: str,
    title: str = "",
    parent: str | None = None,
    filename: str = FILENAME,
    spec: Spec | None = None,
) -> Candidate | Rejected:
    """The candidate that `source` holds, or the first thing that is wrong with it.

    With a spec, the parameters of `run` must be the spec's inputs in order, and WHERE may name its axes and no others;
    without one, any name that SPACE lacks is taken for an axis. `filename` is what messages call the file.
    """
    try:
        text = _decode(source)
        tree = _parse(text)
        space, where, trials = _read(tree, spec)
    except Defect as defect:
        data = source if isinstance(source, bytes) else source.encode(errors="surrogatepass")
        place = f"{filename}:{defect.line}" if defect.line else filename
        message = f"{place}: {defect.what}. {defect.mend}".strip()
        evidence: dict[str, bool | int | float | str] = {"line": defect.line} if defect.line else {}
        identity = hashlib.sha256(data).hexdigest()[:16]
        return Rejected(candidate_id=identity, stage="source", code=defect.code, message=message, evidence=evidence)
    return Candidate(
        id=candidate_id(text), source=text, space=space, where=where, trials=trials,
        proposer=proposer, title=title, parent=parent,
    )  # fmt: skip


def _decode(source: str | bytes) -> str:
    try:
        text = source.decode() if isinstance(source, bytes) else source
        size = len(text.encode())
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError | UnicodeEncodeError) else 0
        line = (source[:at].count(b"\n") if isinstance(source, bytes) else source[:at].count("\n")) + 1
        raise Defect("not_utf8", line, "the file is not UTF-8 text", "Save it as UTF-8.") from error
    if size > MAX_BYTES:
        raise Defect("too_large", 0, f"the file has {size:,} bytes, more than {MAX_BYTES:,}", "Keep to what is used.")
    for line, content in enumerate(text.split("\n"), start=1):
        if "\0" in content:
            raise Defect("nul_byte", line, "the file holds a NUL byte", "Remove it.")
        if hidden := _HIDDEN.intersection(content):
            names = ", ".join(f"U+{ord(character):04X}" for character in sorted(hidden))
            raise Defect("hidden_character", line, f"the line holds invisible characters ({names})", "Remove them.")
    if not text.strip():
        raise Defect("empty", 0, "the file is empty", "Write kernels, SPACE and a launcher run(*inputs, **config).")
    return text


def _parse(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text)
    except SyntaxError as error:
        raise Defect("syntax_error", error.lineno or 0, f"{error.msg}", "Mend the syntax.") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise Defect("too_deep", 0, f"the file cannot be parsed ({error})", "Nest its expressions less.") from error


def _read(tree: ast.Module, spec: Spec | None) -> tuple[Space, tuple[str, ...], tuple[Config, ...]]:
    literals = _top_level_literals(tree)
    run = _function(tree, "run", required=True)
    assert run is not None
    _check_kernels(tree)
    space = read_space(literals["SPACE"]) if "SPACE" in literals else {}
    if spec is not None and (shared := [name for name in space if name in spec.axes]):
        raise Defect(
            "name_collision", literals["SPACE"].lineno, f"SPACE names {shared[0]}, which is an axis of {spec.name}",
            "Rename it, so that WHERE can tell the two apart.",
        )  # fmt: skip
    _check_run(run, space, spec)
    _check_backward(_function(tree, "backward", required=False), space, spec)
    where = read_where(literals["WHERE"], space, spec.axes if spec else None) if "WHERE" in literals else ()
    trials = read_trials(literals["TRIALS"], space) if "TRIALS" in literals else ()
    return space, where, trials


# ------------------------------------------------------------------------------------------------- definitions


def _top_level_literals(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names = [name]
            case ast.AugAssign(target=ast.Name(id=name)) if name in _LITERALS:
                raise Defect("duplicate_definition", statement.lineno, f"{name} is changed", "Write it as one literal.")
            case _:
                continue
        for name in names:
            if name in found:
                raise Defect("duplicate_definition", statement.lineno, f"{name} is assigned twice", "Keep one.")
            if name in _LITERALS:
                found[name] = value
    return found


def _function(tree: ast.Module, name: str, *, required: bool) -> Function | None:
    found = [node for node in tree.body if isinstance(node, Function) and node.name == name]
    if not found and required:
        raise Defect(
            "no_run",
            0,
            f"no function {name} at the top level",
            "Add def run(*inputs, *, CONFIG) that returns the outputs.",
        )
    if len(found) > 1:
        raise Defect("duplicate_definition", found[1].lineno, f"{name} is defined twice", "Keep one.")
    return found[0] if found else None


def _check_run(run: Function, space: Space, spec: Spec | None) -> None:
    _check_plain(run)
    positional = [argument.arg for argument in (*run.args.posonlyargs, *run.args.args)]
    options = [argument.arg for argument in run.args.kwonlyargs]
    if taken := [name for name in positional if name in space]:
        raise Defect(
            "config_not_keyword_only", run.lineno, f"run takes {taken[0]} of SPACE by position",
            "Put `*,` before the config parameters.",
        )  # fmt: skip
    for name in options:
        if name not in space:
            raise Defect(
                "config_without_space", run.lineno, f"run takes {name}, which SPACE does not have",
                f'Add "{name}": [...] to SPACE; one value is enough.',
            )  # fmt: skip
    for name in space:
        if name not in options:
            raise Defect(
                "space_not_taken", run.lineno, f"SPACE names {name}, which run does not take",
                f"Add {name} to the keyword-only parameters of run, or remove it from SPACE.",
            )  # fmt: skip
    if spec is not None and positional != (expected := [i.name for i in spec.inputs]):
        raise Defect(
            "inputs_mismatch", run.lineno, f"run takes ({', '.join(positional)})",
            f"The inputs of {spec.name} are ({', '.join(expected)}), in this order.",
        )  # fmt: skip


def _check_plain(function: Function) -> None:
    name, line = function.name, function.lineno
    if isinstance(function, ast.AsyncFunctionDef):
        raise Defect("run_not_plain", line, f"{name} is async", "Make it a plain function.")
    if starred := function.args.vararg or function.args.kwarg:
        raise Defect(
            "run_not_plain", line, f"{name} takes *{starred.arg}", "Name every input and every config parameter."
        )
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function)):
        raise Defect("run_not_plain", line, f"{name} is a generator", "Return the outputs.")


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body, those of functions inside it left out."""
    queue: list[ast.AST] = list(function.body)
    while queue:
        node = queue.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            queue.extend(ast.iter_child_nodes(node))


def _check_backward(backward: Function | None, space: Space, spec: Spec | None) -> None:
    if backward is None:
        if spec is not None and spec.accept.grad:
            raise Defect(
                "no_backward", 0, f"{spec.name} asks for gradients of {', '.join(spec.accept.grad)}",
                "Add def backward(grad_outputs, saved, *, CONFIG).",
            )  # fmt: skip
        return
    _check_plain(backward)
    for argument in backward.args.kwonlyargs:
        if argument.arg not in space:
            raise Defect(
                "config_without_space", backward.lineno, f"backward takes {argument.arg}, which SPACE does not have",
                f'Add "{argument.arg}": [...] to SPACE.',
            )  # fmt: skip


# ----------------------------------------------------------------------------------------------------- kernels


def _check_kernels(tree: ast.Module) -> None:
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {
                a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0] for a in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    if not any(name.split(".")[0] == "triton" for name in imported.values()):
        raise Defect(
            "no_triton", 0, "triton is not imported", "Add `import triton` and `import triton.language as tl`."
        )
    if not any(_is_jit(node, imported) for node in ast.walk(tree)):
        raise Defect(
            "no_kernel", 0, "no kernel with @triton.jit", "A candidate computes its outputs in Triton kernels."
        )


def _is_jit(node: ast.AST, imported: dict[str, str]) -> bool:
    """A reference to the `jit` of triton, or of one of its dialects, such as gluon."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in imported:
        return False
    parts = [*imported[node.id].split("."), *reversed(names)]
    return parts[0] == "triton" and parts[-1] == "jit"
