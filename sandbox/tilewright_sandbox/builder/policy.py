"""Rules on candidate source, read with `ast`. They are tripwires that name a mistake early; the box is the boundary.

A rule refuses a construct, never a word: comments, names and strings that mention streams or threads are fine.
"""

from __future__ import annotations

import ast
import string
from collections import Counter
from collections.abc import Iterator

from ..contract import Rejected, candidate_id
from .aten_rules import AtenKind, classify_aten, op_name, refusal_text
from .forbidden import (
    ALLOWED_MODULES,
    BUILTINS,
    BY_STRING,
    FORBIDDEN,
    HIDDEN_NAMES,
    HOOKS,
    MACHINE_MODULES,
    OWNERS,
    STANDARD_MODULES,
    WHY_NOT,
)
from .refusal import Refusal
from .source import FILENAME

__all__ = ["AtenKind", "check_source", "classify_aten", "op_name", "refusal_text"]

WHOLE = frozenset({"bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"})
"""Classes whose one positional pattern is the object itself."""


class _Reader(ast.NodeVisitor):
    """Finds the first broken rule. `names` maps a local name to the library name that it stands for."""

    def __init__(self, tree: ast.AST) -> None:
        self.names: dict[str, str] = {}
        bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        bound |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.builtins = BUILTINS - (bound - {"exec", "eval", "__import__"})  # `input` is a common parameter
        self.modules = set[str]()
        """Library names that `import` binds."""
        self.read: set[ast.AST] = set()
        """Expressions that were looked at where they stand: owners of attributes, aliases, functions whose names were
        read."""

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
        if parts[0] in STANDARD_MODULES and any(part.startswith("_") and part[1] != "_" for part in parts[1:]):
            self.refuse(node, "introspection_not_allowed", name, "use the library's public interface")
        for count in range(1, len(parts) + 1):
            if rule := FORBIDDEN.get(".".join(parts[:count])):
                self.refuse(node, rule[0], name, rule[1])

    def follow(self, tree: ast.AST) -> None:
        """Names that the source gives to modules and their parts. A name that stands for something else elsewhere, as
        `x` may, is left alone."""
        bound = list(_aliases(tree))
        counts = Counter(name for name, _ in bound)
        parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        for _ in range(len(bound)):
            before = len(self.names)
            for name, value in bound:
                if counts[name] == 1 and name not in parameters and (library := self.library_name(value)):
                    self.names.setdefault(name, library)
                    self.read.add(value)
            if len(self.names) == before:
                break

    def check_attribute(self, node: ast.AST, name: str) -> None:
        """An attribute's own name, whatever it is read from."""
        if name in MACHINE_MODULES:
            self.refuse(node, "import_not_allowed", f"{name} through a module", "a launcher does not touch the machine")
        if name in HIDDEN_NAMES:
            self.refuse(node, "introspection_not_allowed", name, "call functions by name")

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
            self.modules.add(alias.name if alias.asname else root)

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
        if node.id == "__match_args__":
            self.refuse(node, "introspection_not_allowed", node.id, "name the attributes in the pattern")
        self._check_passed_on(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self.library_name(node)
        if name:
            self.check_name(node, name)
            if isinstance(node.ctx, ast.Store | ast.Del):
                self.refuse(node, "patch_not_allowed", f"assignment to {name}", "libraries stay as they are")
        if isinstance(node.ctx, ast.Store | ast.Del) and _is_class_of(node.value):
            self.refuse(node, "patch_not_allowed", f"assignment to {ast.unparse(node)}", "classes stay as they are")
        if name not in BY_STRING:
            self.check_attribute(node, node.attr)
        self._check_passed_on(node)
        self.read.add(node.value)
        self.generic_visit(node)

    def by_string(self, node: ast.AST) -> str | None:
        """`getattr`, `operator.attrgetter` …, where the expression names one of them."""
        name = self.library_name(node) or (node.id if isinstance(node, ast.Name) else "")
        return name if name in BY_STRING else None

    def _check_passed_on(self, node: ast.Name | ast.Attribute) -> None:
        if node in self.read or not isinstance(node.ctx, ast.Load):
            return
        if verb := self.by_string(node):
            self.refuse(node, "obfuscated_attribute", f"{verb} passed on", "call it at once, with the name written out")
        if (name := self.library_name(node)) in self.modules or name in OWNERS:
            self.refuse(node, "obfuscated_attribute", f"the module {name} as a value", "write out what you use of it")

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr") and node.args:
            self.read.add(node.args[0])
        verb = self.by_string(node.func)
        if verb is not None and "." in verb:
            self._check_getter(node, verb)
        elif verb is not None:
            self._check_attribute_call(node, verb)
        elif isinstance(made := node.func, ast.Call) and self.by_string(made.func):  # attrgetter("a.b")(torch)
            self.read.update(node.args)
            for owner in filter(None, map(self.library_name, node.args)):
                for path in _strings(made.args):
                    self.check_name(node, f"{owner}.{path}")
        self._check_copied_attributes(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "format_map"):
            self._check_format(node, node.func.value)
        self.generic_visit(node)

    def _check_getter(self, node: ast.Call, verb: str) -> None:
        """`operator.attrgetter("a.b", "c")`, `operator.methodcaller("f", …)`: the owner is not known, so the names are
        read as of torch and of Triton, too."""
        self.read.add(node.func)
        names = node.args if verb.endswith("attrgetter") else node.args[:1]
        if len(_strings(names)) != len(names) or not names or any(key.arg is None for key in node.keywords):
            self.refuse(node, "obfuscated_attribute", f"{verb} with a computed name", "write the name out")
        for path in _strings(names):
            for part in path.split("."):
                self.check_attribute(node, part)
            for owner in ("torch", "triton", "triton.language"):
                self.check_name(node, f"{owner}.{path}")

    def _check_attribute_call(self, node: ast.Call, verb: str) -> None:
        self.read.add(node.func)
        owner = self.library_name(node.args[0]) if node.args else None
        key = node.args[1] if len(node.args) > 1 else None
        literal = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        if literal is not None:
            if owner is not None and verb == "getattr":
                self.check_name(node, f"{owner}.{literal}")
            self.check_attribute(node, literal)
        if owner is not None and verb != "getattr":
            self.refuse(node, "patch_not_allowed", f"{verb} on {owner}", "libraries stay as they are")
        if literal is None and not (owner == "triton.language" and verb == "getattr"):
            of = f" on {owner}" if owner else ""
            self.refuse(node, "obfuscated_attribute", f"{verb}{of} with a computed name", "write the name out")

    def _check_copied_attributes(self, node: ast.Call) -> None:
        """`functools.wraps` takes lists of attributes to copy: from a module to an object, or onto a module."""
        name = self.library_name(node.func)
        places = {"functools.wraps": 1, "functools.update_wrapper": 2}.get(name or "")
        if places is not None and (len(node.args) > places or node.keywords):
            self.refuse(node, "obfuscated_attribute", f"{name} with lists of attributes", "leave the lists out")

    def _check_format(self, node: ast.AST, template: ast.expr) -> None:
        """`"{0.name}".format(x)` reads attributes, nested in a width too."""
        todo = _strings([template])
        while todo:
            try:
                fields = list(string.Formatter().parse(todo.pop()))
            except ValueError:
                continue  # raises where it runs
            for _, field, nested, _ in fields:
                for part in (field or "").replace("[", ".").replace("]", "").split(".")[1:]:
                    self.check_attribute(node, part)
                todo += [nested] if nested else []

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        for name in node.kwd_attrs:
            self.check_attribute(node, name)
        plain = isinstance(node.cls, ast.Name) and node.cls.id in WHOLE
        if node.patterns and not plain:
            what = f"a pattern that reads attributes of {ast.unparse(node.cls)} by position"
            self.refuse(node, "obfuscated_attribute", what, "write name=pattern")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in HOOKS:
            self.refuse(node, "tensor_hook_not_allowed", node.name, "tensors stay plain torch tensors")
        self.generic_visit(node)


def _is_class_of(node: ast.expr) -> bool:
    """`type(x)` or `x.__class__`."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


def _strings(nodes: list[ast.expr]) -> list[str]:
    """The values of those that are string literals."""
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _aliases(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that are bound to one plain expression: `lib = torch`, `(lib := torch)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        elif isinstance(node, ast.NamedExpr | ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def check_source(source: str) -> Rejected | None:
    """The first static rule that the source breaks (stage `policy`), or None. A syntax error is stage `source`."""
    try:
        tree = ast.parse(source)
        reader = _Reader(tree)
        for node in ast.walk(tree):  # imports first: a name may be used above the line that imports it
            if isinstance(node, ast.Import | ast.ImportFrom):
                reader.visit(node)
        reader.follow(tree)
        reader.visit(tree)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 0
        message = f"{FILENAME}:{line}: {type(error).__name__}: {getattr(error, 'msg', error)}."
        return Refusal("source", "syntax_error", message, line=line).rejected(candidate_id(source))
    except Refusal as refusal:
        return refusal.rejected(candidate_id(source))
    return None
