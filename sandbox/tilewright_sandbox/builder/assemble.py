"""What children of a build answer, and how captures and compiled kernels become plans."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ..contract import Argument, Launch, Plan, Record, Rejected, Sha256, TensorMap
from .compile import CompiledUnit, DescriptorLayout


class Captured(Record):
    kind: Literal["captured"] = "captured"
    plan: Plan
    keys: tuple[Sha256, ...]
    seconds: float


class Compiled(Record):
    kind: Literal["compiled"] = "compiled"
    unit: CompiledUnit
    seconds: float

    def with_code_mix(self, mix: dict[str, Any]) -> Compiled:
        kernel = self.unit.kernel
        kernel = kernel.model_copy(update={"resources": kernel.resources.model_copy(update=mix)})
        return self.model_copy(update={"unit": self.unit.model_copy(update={"kernel": kernel})})


class Refused(Record):
    kind: Literal["refused"] = "refused"
    rejected: Rejected


class MachineFailed(Record):
    kind: Literal["machine"] = "machine"
    what: str
    fix: str


ChildAnswer = Annotated[Captured | Compiled | Refused | MachineFailed, Field(discriminator="kind")]


class ChildReply(Record):
    """One answer for each job that the child served."""

    answers: tuple[ChildAnswer, ...]


def assemble(captured: Captured, units: dict[str, CompiledUnit]) -> Plan:
    """The compiled plan: each launch names its kernel, and TMA descriptors have the layout that the compiler chose."""
    order = list(dict.fromkeys(captured.keys))
    keys = iter(captured.keys)
    steps = []
    for step in captured.plan.steps:
        if isinstance(step, Launch):
            key = next(keys)
            arguments = _with_layouts(step.arguments, units[key].descriptors)
            step = step.model_copy(update={"kernel": order.index(key), "arguments": arguments})
        steps.append(step)
    fields = dict(captured.plan)
    fields.update(compiled=True, kernels=tuple(units[key].kernel for key in order), steps=tuple(steps))
    return Plan(**fields)


def _with_layouts(arguments: tuple[Argument, ...], layouts: tuple[DescriptorLayout, ...]) -> tuple[Argument, ...]:
    remaining = iter(layouts)
    return tuple(
        argument.model_copy(update=dict(next(remaining))) if isinstance(argument, TensorMap) else argument
        for argument in arguments
    )
