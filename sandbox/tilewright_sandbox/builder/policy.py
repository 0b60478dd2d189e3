"""Rules on candidate source, read with `ast`. They are tripwires that name a mistake early; the box is the boundary.

A rule refuses a construct, never a word: comments, names and strings that mention streams or threads are fine.
"""

from __future__ import annotations

import ast

from ..contract import Rejected, candidate_id
from .aten_rules import AtenKind, classify_aten, op_name, refusal_text
from .forbidden import ALLOWED_MODULES, BUILTINS, FORBIDDEN, HOOKS, INTROSPECTION, MACHINE_MODULES, WHY_NOT
from .refusal import Refusal
from .source import FILENAME

__all__ = ["AtenKind", "check_source", "classify_aten", "op_name", "refusal_text"]


class _Reader(ast.NodeVisitor):
    """Finds the first broken rule. `names` maps a local name to the library name that it stands for."""

    def __init__(self, tree: ast.AST) -> None:
        self.names: dict[str, str] = {}
        bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        bound |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.builtins = BUILTINS - (bound - {"exec", "eval", "__import__"})  # `input` is a common parameter

    def refuse(self, node: ast.AST, code: str, what: str, mend: str) -> None:
        line = getattr(node, "lineno", 0)
        raise Refusal("policy", code, f"{FILENAME}:{line}: {what} is not allowed: {mend}.", line=line)

    def library_name(self, node: ast.AST) -> str | None:
        """The full dotted name of an expression such as `tl.sum`, where it starts at an imported module."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := self.library_name(node.value)):
            return f"{owner}.{node.attr}"
        return None

    def check_name(self, node: ast.AST, name: str) -> None:
        parts = name.split(".")
        if hidden := MACHINE_MODULES.intersection(parts[1:]):
            module = min(hidden)
            self.refuse(node, "import_not_allowed", f"{module} through {name}", "a launcher does not touch the machine")
        for count in range(1, len(parts) + 1):
            if rule := FORBIDDEN.get(".".join(parts[:count])):
                self.refuse(node, rule[0], name, rule[1])

    def check_module(self, node: ast.AST, module: str) -> None:
        root = module.split(".")[0]
        if root not in ALLOWED_MODULES:
            why = WHY_NOT.get(root, "a candidate imports torch, triton and pure parts of the standard library only")
            self.refuse(node, "import_not_allowed", f"import of {module}", why)
        self.check_name(node, module)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.check_module(node, alias.name)
            root = alias.name.split(".")[0]
            self.names[alias.asname or root] = alias.name if alias.asname else root

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            self.refuse(node, "import_not_allowed", "a relative import", "a candidate is one self-contained file")
            return
        self.check_module(node, node.module)
        for alias in node.names:
            self.check_name(node, f"{node.module}.{alias.name}")
            self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.builtins and isinstance(node.ctx, ast.Load) and node.id not in self.names:
            self.refuse(node, "builtin_not_allowed", node.id, "a candidate is plain kernels and a launcher")
        if name := self.names.get(node.id):
            self.check_name(node, name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in INTROSPECTION:
            self.refuse(node, "introspection_not_allowed", node.attr, "call functions by name")
        if name := self.library_name(node):
            self.check_name(node, name)
            if isinstance(node.ctx, ast.Store | ast.Del):
                self.refuse(node, "patch_not_allowed", f"assignment to {name}", "libraries stay as they are")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr", "delattr") and node.args:
            self._check_attribute_call(node, node.func.id)
        self.generic_visit(node)

    def _check_attribute_call(self, node: ast.Call, verb: str) -> None:
        owner = self.library_name(node.args[0])
        key = node.args[1] if len(node.args) > 1 else None
        literal = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        if literal in INTROSPECTION:
            self.refuse(node, "introspection_not_allowed", str(literal), "call functions by name")
        if owner is None:
            return
        if verb != "getattr":
            self.refuse(node, "patch_not_allowed", f"{verb} on {owner}", "libraries stay as they are")
        if literal is not None:
            self.check_name(node, f"{owner}.{literal}")
        elif owner.split(".")[0] == "torch":
            self.refuse(node, "obfuscated_attribute", f"getattr on {owner} with a computed name", "write the name out")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in HOOKS:
            self.refuse(node, "tensor_hook_not_allowed", node.name, "tensors stay plain torch tensors")
        self.generic_visit(node)


def check_source(source: str) -> Rejected | None:
    """The first static rule that the source breaks (stage `policy`), or None. A syntax error is stage `source`."""
    try:
        tree = ast.parse(source)
        reader = _Reader(tree)
        for node in ast.walk(tree):  # imports first: a name may be used above the line that imports it
            if isinstance(node, ast.Import | ast.ImportFrom):
                reader.visit(node)
        reader.visit(tree)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 0
        message = f"{FILENAME}:{line}: {type(error).__name__}: {getattr(error, 'msg', error)}."
        return Refusal("source", "syntax_error", message, line=line).rejected(candidate_id(source))
    except Refusal as refusal:
        return refusal.rejected(candidate_id(source))
    return None
