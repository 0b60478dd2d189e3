"""Which arguments of a kernel its TTIR stores through: what a run that restores its inputs hides.

Every value is a node, with an edge to each value that it is made of; what a load gives is made of nothing. The sources
of an address are the arguments that can be reached from it, whichever branches are taken.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache

Node = tuple[object, ...]

_VALUE = r"%[\w.$-]+(?:#\d+)?"
_VALUES = re.compile(_VALUE)
_LOCATION = re.compile(r"\s*loc\((?:[^()\"]|\"[^\"]*\")*\)")
_FUNCTION = re.compile(r"\s*tt\.func (\w+) @([\w.$-]+)\((.*)")
_DEFINITION = re.compile(r"\s*(%[\w.$-]+)(?::(\d+))? = (\"?[\w.]+\"?)(.*)")
_STATEMENT = re.compile(r"\s*(\"?[\w.]+\"?)(.*)")
_BLOCK = re.compile(r"\s*(\^\w+)(?:\((.*)\))?:")
_BRANCH = re.compile(r"(\^\w+)\(([^:()]*):")
_CALLED = re.compile(r"@([\w.$-]+)")
_PAIR = re.compile(rf"({_VALUE}) = ({_VALUE})")
_TYPED = re.compile(r"(%[\w.$-]+): ")

_READS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather", "tt.atomic_rmw", "tt.atomic_cas")
_WRITES = (
    "tt.store", "tt.atomic_rmw", "tt.atomic_cas",
    "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter",
)  # fmt: skip
"""Their first operand is the address or the descriptor."""

_MOST_PASSED = 64


@dataclass
class _Region:
    """An open brace: what its terminators feed."""

    line: int
    results: list[Node] = field(default_factory=list)
    carried: list[Node] = field(default_factory=list)
    """What the body takes from the turn before."""
    passed: list[Node] = field(default_factory=list)
    """What a while's condition hands to the results and to the body, which names it as its block's arguments."""


class _Reader:
    def __init__(self) -> None:
        self.made_of: defaultdict[Node, set[Node]] = defaultdict(set)
        self.addresses: set[Node] = set()
        self.kernel = self.function = ""
        self._named: dict[str, Node] = {}
        self._open: list[_Region] = []
        self._line = 0

    def read(self, ttir: str) -> None:
        for self._line, raw in enumerate(ttir.splitlines()):
            line = _LOCATION.sub("", raw).rstrip()
            if match := _FUNCTION.match(line):
                self._begin(match[1], match[2], match[3])
            elif match := _BLOCK.match(line):
                names = _TYPED.findall(match[2] or "")
                arguments = self._block(match[1], len(names))
                self._feed(arguments, self._open[-1].passed)
                self._named |= zip(names, arguments, strict=True)
            elif line.lstrip().startswith("}"):
                self._close(line.strip())
            elif match := _DEFINITION.match(line):
                self._define(match[1], int(match[2] or 1), match[3].strip('"'), match[4])
            elif match := _STATEMENT.match(line):
                self._state(match[1].strip('"'), match[2])

    def _begin(self, visibility: str, name: str, parameters: str) -> None:
        self.function, self._named, self._open = name, {}, [_Region(self._line)]
        if visibility == "public":
            self.kernel = name
        for place, parameter in enumerate(_TYPED.findall(parameters)):
            self._named[parameter] = (name, "argument", place)

    def _values(self, text: str) -> list[Node]:
        return [self._named.get(name, ("unknown", name)) for name in _VALUES.findall(text)]

    def _block(self, label: str, count: int) -> list[Node]:
        """The arguments of a block of the open region."""
        return [(self.function, self._open[-1].line, label, place) for place in range(count)]

    def _feed(self, targets: list[Node], sources: list[Node]) -> None:
        for target, source in zip(targets, sources, strict=False):
            self.made_of[target].add(source)

    def _define(self, name: str, count: int, operation: str, rest: str) -> None:
        results: list[Node] = [(self.function, self._line, place) for place in range(count)]
        operands = self._values(rest.rsplit(" : ", 1)[0])
        if operation in _WRITES:
            self.addresses |= set(operands[:1])
        if operation.startswith("scf."):
            self._control(operation, rest, results)
        elif operation == "tt.call":
            self._call(rest, results)
        elif operation not in _READS:
            for result in results:  # an offset is no address
                self.made_of[result] |= set(operands[:1] if operation == "tt.addptr" else operands)
            if rest.endswith("{"):
                self._open.append(_Region(self._line))
        self._named[name] = results[0]
        self._named |= {f"{name}#{place}": result for place, result in enumerate(results)}

    def _state(self, operation: str, rest: str) -> None:
        operands = self._values(rest.rsplit(" : ", 1)[0])
        if operation in _WRITES:
            self.addresses |= set(operands[:1])
        elif operation == "tt.call":
            self._call(rest, [])
        elif operation == "tt.return":
            self._feed([(self.function, "returned", place) for place in range(len(operands))], operands)
        elif operation == "scf.yield":
            self._feed(self._open[-1].results, operands)
            self._feed(self._open[-1].carried, operands)
        elif operation == "scf.condition":
            self._feed(self._open[-1].passed, operands[1:])
        elif operation.startswith("cf."):
            for label, given in _BRANCH.findall(rest):
                passed = self._values(given)
                self._feed(self._block(label, len(passed)), passed)
        elif operation.startswith("scf."):
            self._control(operation, rest, [])
        elif rest.endswith("{"):
            self._open.append(_Region(self._line))

    def _control(self, operation: str, rest: str, results: list[Node]) -> None:
        """Open a loop or a branch. Names of a for's index and of what is carried hold in its region."""
        region = _Region(self._line, results)
        pairs = _PAIR.findall(rest.partition("iter_args(")[2] if operation == "scf.for" else rest)
        region.carried = [(self.function, self._line, "carried", place) for place in range(len(pairs))]
        inits = [self._named.get(source, ("unknown", source)) for _, source in pairs]
        self._feed(region.carried, inits)
        if operation == "scf.for":
            self._feed(results, inits)
            self._named[_VALUES.findall(rest)[0]] = (self.function, self._line, "index")
        elif operation == "scf.while":
            region.passed = [(self.function, self._line, "passed", place) for place in range(_MOST_PASSED)]
            self._feed(results, region.passed)
            region.results = []
        self._named |= {name: node for (name, _), node in zip(pairs, region.carried, strict=True)}
        self._open.append(region)

    def _close(self, line: str) -> None:
        """`}`, `} else {` or `} do {`, whose block's arguments are what the condition passed on."""
        if len(self._open) > 1:
            region = self._open.pop()
            if line.endswith("{"):
                self._open.append(region)

    def _call(self, rest: str, results: list[Node]) -> None:
        if match := _CALLED.search(rest):
            operands = self._values(rest.rsplit(" : ", 1)[0])
            self._feed([(match[1], "argument", place) for place in range(len(operands))], operands)
            self._feed(results, [(match[1], "returned", place) for place in range(len(results))])


@lru_cache(maxsize=256)
def stored_arguments(ttir: str) -> frozenset[int]:
    """Places, among the kernel's arguments, of those that a store or an atomic may write through."""
    reader = _Reader()
    reader.read(ttir)
    seen, todo = set[Node](), list(reader.addresses)
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += reader.made_of[node]
    return frozenset(int(str(node[2])) for node in seen if node[:2] == (reader.kernel, "argument"))
