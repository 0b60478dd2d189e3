"""`reference.py` read as a tree: imports, constants and functions, and a `reference` that takes the spec's inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from .contract import Spec
from .spec_error import SpecError

MODULE_LEVEL = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign)
MODULES = ("__future__", "torch", "math", "typing", "collections")


def check_reference(source: str, spec: Spec, file: Path) -> None:
    """SpecError with line and mend where the text is not a reference for `spec`. Nothing is executed."""
    try:
        tree = ast.parse(source, str(file))
    except SyntaxError as error:
        raise SpecError(f"syntax error: {error.msg}", file, error.lineno or 1, "mend the Python on that line") from None
    except ValueError as error:
        raise SpecError(f"cannot be parsed: {error}", file, 1, "remove the NUL bytes") from None
    for statement in tree.body:
        _check_statement(statement, file)
    for node in ast.walk(tree):
        for module in _imported(node):
            if module.split(".")[0] not in MODULES:
                line = getattr(node, "lineno", None)
                raise SpecError(f'imports "{module}"', file, line, "a reference is plain PyTorch: torch and math")
    functions = [s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "reference"]
    if len(functions) == 1:
        return _check_signature(functions[0], spec, file)
    if not functions:
        raise SpecError("there is no function `reference`", file, 1, f"define: {_wanted(spec)}")
    raise SpecError("`reference` is defined twice", file, functions[1].lineno, "keep one")


def _check_statement(statement: ast.stmt, file: Path) -> None:
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if not docstring and not isinstance(statement, MODULE_LEVEL):
        message = "a statement at module level that is neither import, constant nor function"
        raise SpecError(message, file, statement.lineno, "move it into reference()")
    if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
        message = f"{statement.name} is decorated"
        raise SpecError(message, file, statement.decorator_list[0].lineno, "leave the function as plain PyTorch")
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
            if not ast.unparse(call.func).startswith("math."):
                message = f"{ast.unparse(call.func)} is called at module level"
                raise SpecError(message, file, call.lineno, "move it into reference(); constants may call math alone")


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield "." * node.level + (node.module or "")


def _wanted(spec: Spec) -> str:
    return f"def reference({', '.join(item.name for item in spec.inputs)}): …"


def _check_signature(function: ast.FunctionDef, spec: Spec, file: Path) -> None:
    arguments = function.args
    given = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or given != [item.name for item in spec.inputs]:
        message = f"{ast.unparse(arguments)!r} are not the spec's inputs in order"
        raise SpecError(message, file, function.lineno, f"define: {_wanted(spec)}")
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for name in given:
        if name not in read:
            fix = "use it, or remove it from [inputs] and the signature"
            raise SpecError(f'reference never reads its input "{name}"', file, function.lineno, fix)
