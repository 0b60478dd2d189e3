"""Precision, read from the TTIR of the compiled kernels: what rounding hides from any comparison of outputs.

TTIR is Triton's own text form, made before any layout is chosen. `tl.dot` on float32 operands says `inputPrecision =
tf32` unless the source asks for ieee; on half operands the attribute means nothing. Read, for each function:

- a dot or a floating sum whose accumulator is a half type;
- a sum carried through a loop in a half type;
- operands rounded to a half type (`arith.truncf`) on the way into a dot or a sum, where no input of the spec is half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

HALF_TYPES = ("f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
_ASSIGNED = re.compile(r"^\s*(%[\w.$-]+)(?::\d+)? = ([\w.]+|\"[\w.]+\")(.*)$")
_OPERANDS = re.compile(r"%[\w.$-]+(?:#\d+)?")
_LOCATION = re.compile(r"\s+loc\(.*$")
_ELEMENT = re.compile(r"(?:x|^)(bf16|f\d\w*|i\d+)(?:,.*)?$")
_FLOWS = {
    "tt.trans", "tt.reshape", "tt.broadcast", "tt.expand_dims", "tt.splat", "tt.join", "arith.mulf", "arith.select",
    "arith.extf", "tt.fp_to_fp",
}  # fmt: skip
_ACCUMULATES = ("arith.addf", "arith.subf", "math.fma")


@dataclass(frozen=True)
class Operation:
    """One line of TTIR."""

    line: int
    name: str
    operands: tuple[Operation, ...]
    """Operations that made the operands; arguments of functions, loops and regions are none."""
    text: str

    @property
    def element(self) -> str:
        """Element type of the result, such as `f32`; empty where it cannot be read."""
        after = self.text.rsplit("->", 1)[-1] if "->" in self.text else self.text.rsplit(" : ", 1)[-1]
        after = after.rsplit(" to ", 1)[-1]
        return element_type(after.strip())


def element_type(text: str) -> str:
    """`tensor<128x64xbf16>` → `bf16`, `f32` → `f32`."""
    inner = re.search(r"tensor<([^<>]*)>", text)
    match = _ELEMENT.search(inner[1] if inner else text)
    return match[1] if match else ""


@dataclass(frozen=True)
class Breach:
    code: str
    message: str


def breaches(ttir: str, kernel: str, *, allow_tf32: bool, half_inputs: bool) -> list[Breach]:
    """What in one kernel does not fit the precision policy."""
    operations, carried = read_operations(ttir)
    found: list[tuple[str, str]] = []
    for operation in operations:
        if operation.name in ("tt.dot", "tt.dot_scaled"):
            found += _of_dot(operation, allow_tf32, half_inputs)
        elif operation.name in ("tt.reduce", "tt.scan") and _sums(ttir, operation):
            found += _of_sum(operation, half_inputs)
    for operation in carried:
        if operation.name in _ACCUMULATES and operation.element in HALF_TYPES:
            text = f"a running sum is kept in {operation.element} from one turn of the loop to the next"
            found.append(("half_accumulator", f"{text}. Keep it in tl.float32."))
    return [Breach(code, f"{kernel}: {text}") for code, text in found]


def _of_dot(dot: Operation, allow_tf32: bool, half_inputs: bool) -> Iterator[tuple[str, str]]:
    operands = [element_type(t) for t in re.findall(r"tensor<[^<>]*>", dot.text.rsplit(" : ", 1)[-1])[:2]]
    precision = re.search(r"inputPrecision = (\w+)", dot.text)
    if operands[:1] == ["f32"] and precision and precision[1] == "tf32" and not allow_tf32:
        yield "tf32_dot", 'tl.dot multiplies float32 in TF32. Write input_precision="ieee", or let the spec allow tf32.'
    if dot.element in HALF_TYPES:
        text = f"tl.dot accumulates in {dot.element}. Accumulate in tl.float32 and cast once, at the store."
        yield "half_accumulator", text
    if not half_inputs and (cast := _rounded(dot.operands[:2])):
        yield "rounds_before_dot", f"an operand of tl.dot is rounded to {cast} first. Multiply in float32."


def _of_sum(reduction: Operation, half_inputs: bool) -> Iterator[tuple[str, str]]:
    if reduction.element in HALF_TYPES:
        text = f"a sum is taken in {reduction.element}. Convert to tl.float32 before it, and back after it."
        yield "half_sum", text
    if not half_inputs and (cast := _rounded(reduction.operands)):
        yield "rounds_before_sum", f"terms are rounded to {cast} before they are added. Add in float32."


def has_float_atomics(ttir: str) -> bool:
    """Whether the order of additions is decided at run time."""
    return re.search(r"tt\.atomic_rmw fadd", ttir) is not None


def read_operations(ttir: str) -> tuple[list[Operation], list[Operation]]:
    """Operations that give a value, and those whose value a loop carries to its next turn.

    Names are resolved as they are read: sibling regions use the same ones. A reduction's type follows its region.
    """
    operations: list[Operation] = []
    carried: list[Operation] = []
    defined: dict[str, Operation] = {}
    open_regions: list[tuple[int, str, str, tuple[Operation, ...]]] = []

    def resolve(text: str) -> tuple[Operation, ...]:
        return tuple(defined[name] for name in _OPERANDS.findall(text) if name in defined)

    def define(result: str, operation: Operation) -> None:
        operations.append(operation)
        defined[result] = operation

    for number, raw in enumerate(ttir.splitlines(), start=1):
        line = _LOCATION.sub("", raw)
        stripped = line.strip()
        if stripped.startswith("scf.yield"):
            carried += resolve(stripped)
        elif stripped.startswith("})") and open_regions:
            start, result, name, operands = open_regions.pop()
            define(result, Operation(start, name, operands, stripped))
        elif match := _ASSIGNED.match(line):
            result, name, rest = match[1], match[2].strip('"'), match[3]
            operands = resolve(rest.split(" : ", 1)[0])
            if rest.rstrip().endswith("({"):
                open_regions.append((number, result, name, operands))
            else:
                define(result, Operation(number, name, operands, rest))
    return operations, carried


def _sums(ttir: str, reduction: Operation) -> bool:
    """Whether the region of a reduction adds."""
    lines = ttir.splitlines()[reduction.line :]
    region = []
    for line in lines:
        if line.strip().startswith("})"):
            break
        region.append(line)
    return any("arith.addf" in line for line in region)


def _rounded(operations: tuple[Operation, ...]) -> str:
    """The half type that a value is rounded to on its way here, through views and products; empty if it is not."""
    todo, seen = list(operations), set[int]()
    while todo:
        operation = todo.pop()
        if operation.line in seen:
            continue
        seen.add(operation.line)
        if operation.name == "arith.truncf" and operation.element in HALF_TYPES:
            return operation.element
        if operation.name in _FLOWS:
            todo += operation.operands
    return ""
