"""Puts kernels, launcher and search space together into one source file that a person is glad to read."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewright_sandbox.contract import ConfigValue, Spec, TensorOutput

from .atoms import Atom
from .express import HELPERS, RESERVED, Writer
from .extents import Monomial, Unsupported
from .frame import Strides
from .terms import FLOATS, Output, Term

WIDTH = 100


@dataclass
class Kernel:
    """One Triton kernel and how `run` launches it."""

    name: str
    summary: str
    pointers: list[str]
    writer: Writer
    constants: list[str]
    """Names of the tl.constexpr parameters; each is passed by keyword."""
    body: list[str]
    grid: str = ""
    passed: dict[str, str] = field(default_factory=dict)
    """constexpr → the expression that `run` passes, where it is not the config value of that name."""
    options: tuple[str, ...] = ("num_warps",)

    def parameters(self) -> list[str]:
        frame = self.writer.frame
        return [*self.pointers, *self.writer.scalars, *frame.used, *frame.strides]

    def source(self) -> str:
        arguments = [*(f"{p}_ptr" for p in self.pointers), *self.parameters()[len(self.pointers) :]]
        arguments += [f"{name}: tl.constexpr" for name in self.constants]
        body = textwrap.indent("\n".join([f'"""{self.summary}"""', *self.body]), "    ")
        return f"@triton.jit\n{call(f'def {self.name}', arguments, suffix=':')}\n{body}"


@dataclass
class Module:
    """Everything of one candidate but its text."""

    spec: Spec
    form: str
    """How the kernel goes about it, one sentence."""
    kernels: list[Kernel]
    space: dict[str, list[ConfigValue]]
    trials: list[dict[str, ConfigValue]]
    where: list[str] = field(default_factory=list)
    workspaces: dict[str, tuple[Monomial | str, ...]] = field(default_factory=dict)
    """float32 tensors that `run` allocates: name → shape, in extents and names of the config."""
    prepare: list[str] = field(default_factory=list)
    """Lines of `run` between binding the axes and the launches."""

    def text(self) -> str:
        helpers = sorted({helper for kernel in self.kernels for helper in kernel.writer.helpers})
        blocks = [f'"""{self._headline()}\n\n{textwrap.fill(self.form, WIDTH)}\n"""']
        blocks.append("import torch\nimport triton\nimport triton.language as tl")
        blocks.append(self._space())
        blocks += ["\n" + HELPERS[helper] for helper in helpers]
        blocks += ["\n" + kernel.source() for kernel in self.kernels]
        blocks.append("\n" + self._run())
        return "\n\n".join(blocks) + "\n"

    def _headline(self) -> str:
        summary = self.spec.summary.replace("\\", "").replace('"', "'").strip()
        return textwrap.fill(summary if summary.endswith(".") else summary + ".", WIDTH)

    def _space(self) -> str:
        entries = ", ".join(f'"{name}": {values!r}' for name, values in self.space.items())
        lines = [f"SPACE = {{{entries}}}" if len(entries) < WIDTH else "SPACE = {\n" + self._entries() + "}"]
        if self.where:
            rules = [f'"{rule}"' for rule in self.where]
            lines.append(
                f"WHERE = [{rules[0]}]" if len(rules) == 1 else "WHERE = [\n    " + ",\n    ".join(rules) + ",\n]"
            )
        trials = [
            "    {" + ", ".join(f'"{k}": {v!r}' for k, v in trial.items()) + "},"
            for trial in self.trials
            if all(trial[k] in values for k, values in self.space.items())
        ]
        lines.append("\n".join(["TRIALS = [", *dict.fromkeys(trials), "]"]))
        return "\n".join(lines)

    def _entries(self) -> str:
        return "".join(f'    "{name}": {values!r},\n' for name, values in self.space.items())

    def _run(self) -> str:
        spec = self.spec
        signature = [*(i.name for i in spec.inputs), "*", *self.space]
        needed = [
            axis for kernel in self.kernels for extent in kernel.writer.frame.used.values() for axis in extent.axes
        ]
        needed += [axis for output in spec.outputs for dim in output.shape for axis in Monomial.parse(dim).axes if dim]
        lines = [*bind_axes(spec, needed), *self.prepare]
        lines += [f"{output.name} = {allocation(spec, output)}" for output in spec.outputs]
        device = spec.tensor_inputs[0].name + ".device"
        for name, shape in self.workspaces.items():
            extents = [dim if isinstance(dim, str) else self._extent(dim) for dim in shape]
            lines.append(f"{name} = torch.empty({tuple_text(extents)}, dtype=torch.float32, device={device})")
        for kernel in self.kernels:
            lines += self._launch(kernel).split("\n")
        lines.append("return " + ", ".join(output.name for output in spec.outputs))
        return f"{call('def run', signature, suffix=':')}\n" + textwrap.indent("\n".join(lines), "    ")

    def _launch(self, kernel: Kernel) -> str:
        frame = kernel.writer.frame
        arguments = [*kernel.pointers, *kernel.writer.scalars]
        arguments += [self._extent(extent) for extent in frame.used.values()]
        arguments += [f"{tensor}.stride({dim})" for tensor, dim in frame.strides.values()]
        arguments += [f"{name}={kernel.passed.get(name, name)}" for name in kernel.constants]
        arguments += [f"{name}={kernel.passed.get(name, name)}" for name in kernel.options]
        return call(f"{kernel.name}[{kernel.grid}]", arguments)

    def _extent(self, extent: Monomial) -> str:
        return extent.text(axis_names(self.spec))


def call(head: str, arguments: Sequence[str], suffix: str = "") -> str:
    """`head(arguments)` on one line, or with the arguments wrapped."""
    line = f"{head}({', '.join(arguments)}){suffix}"
    if len(line) <= WIDTH:
        return line
    rows = [""]
    for argument in arguments:
        if rows[-1] and len(rows[-1]) + len(argument) + 6 > WIDTH:
            rows.append("")
        rows[-1] += f"{' ' if rows[-1] else ''}{argument},"
    return f"{head}(\n" + "".join(f"    {row}\n" for row in rows) + f"){suffix}"


def axis_names(spec: Spec) -> dict[str, str]:
    """Axis → variable name: the axis's own, unless an input or output has it too."""
    taken = {i.name for i in spec.inputs} | {o.name for o in spec.outputs} | RESERVED
    return {axis: f"n_{axis}" if axis in taken else axis for axis in spec.axes}


def bind_axes(spec: Spec, needed: Sequence[str]) -> list[str]:
    """Lines that read the needed extents from the shapes of the inputs, such as `tokens, hidden = x.shape`."""
    names, lines, bound = axis_names(spec), [], set[str]()
    wanted = set(needed)
    for tensor in sorted(spec.tensor_inputs, key=lambda t: -len(wanted & set(t.shape))):
        new = (wanted & {dim for dim in tensor.shape if isinstance(dim, str)}) - bound
        if not new:
            continue
        targets: list[str] = []
        for dim in tensor.shape:
            fresh = isinstance(dim, str) and dim in new and names[dim] not in targets
            targets.append(names[str(dim)] if fresh else "_")
        if len(targets) == 1:
            lines.append(f"{targets[0]} = {tensor.name}.shape[0]")
        else:
            lines.append(f"{', '.join(targets)} = {tensor.name}.shape")
        bound |= new
    if missing := wanted - bound:
        raise Unsupported(f"axis {sorted(missing)[0]} is the extent of no input")
    return lines


def allocation(spec: Spec, output: TensorOutput) -> str:
    """The expression that allocates an output; its dtype follows an input of the same dtype, so that twins fit."""
    same = [t for t in spec.tensor_inputs if t.dtype == output.dtype and t.dtype in FLOATS]
    if spec.accept.layouts == ("contiguous",) and (twin := next((t for t in same if t.shape == output.shape), None)):
        return f"torch.empty_like({twin.name})"
    names = axis_names(spec)
    dims = [Monomial.parse(dim).text(names) for dim in output.shape]
    dtype = f"{same[0].name}.dtype" if same else f"torch.{output.dtype}"
    return f"torch.empty({tuple_text(dims)}, dtype={dtype}, device={spec.tensor_inputs[0].name}.device)"


def tuple_text(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def tensor_strides(spec: Spec) -> dict[str, Strides]:
    """How every input and output lies in memory. Outputs are ours: contiguous."""
    strided = "strided" in spec.accept.layouts
    found = {t.name: Strides(tuple(Monomial.parse(d) for d in t.shape), strided) for t in spec.tensor_inputs}
    return found | {o.name: Strides(tuple(Monomial.parse(d) for d in o.shape)) for o in spec.outputs}


def as_stored(output: Output) -> Term:
    """A term that stands for the output's place in memory."""
    return Term("input", value=output.name, index=output.dims, starts=(None,) * len(output.dims))


def order_of(atoms: frozenset[Atom], anchors: Sequence[Sequence[Atom]]) -> tuple[Atom, ...]:
    """The atoms in the order in which they lie in the first tensor that holds them all."""
    for anchor in anchors:
        if atoms <= set(anchor):
            return tuple(atom for atom in anchor if atom in atoms)
    raise Unsupported("no tensor holds all indices of the kernel")
