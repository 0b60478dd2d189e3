"""A Case is one run of the candidate: which inputs, in which dtypes, laid out how, and which check it serves.

Inputs are a pure function of (spec, case, seed): they are drawn once for the box, forgotten, and drawn again for the
oracle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..contract import Dtype, Spec, Workload
from ..poison import Poison
from .inputs import DISTRIBUTIONS, Inputs, draw_inputs
from .lattice import draw_lattice
from .transforms import TRANSFORMS

MEAN_ZERO_DRAWS = frozenset({"spec", "again", "signed_lognormal"})
"""And every `slot:…`."""
Group = Literal["budget", "memory", "determinism", "lattice", "transforms", "shapes"]
Layout = Literal["contiguous", "strided", "offset"]
ProgramOrder = Literal["forward", "reversed"]


@dataclass(frozen=True)
class Case:
    group: Group
    workload: Workload
    dtypes: Mapping[str, Dtype] = field(default_factory=dict)
    """Of every tensor input."""
    draw: str = "spec"
    """`spec`; `again`, a second draw; `slot:3`, a further one;
    a distribution of `inputs`; `lattice:31`; or the name of a transform."""
    layout: Layout = "contiguous"
    poison: Poison = "nan"
    twin_of: Case | None = None
    """The case whose outputs must be equal bit for bit."""
    repeat: int = 0
    program_order: ProgramOrder = "forward"
    """Of the interpreter, which runs one program after the other; a device has no order."""

    @property
    def mean_zero(self) -> bool:
        """Whether data inputs are symmetric about zero, unless the spec bounds them."""
        return self.draw in MEAN_ZERO_DRAWS or self.draw.startswith("slot:")

    @property
    def label(self) -> str:
        kinds = sorted({dtype for dtype in self.dtypes.values() if dtype.startswith(("float", "bfloat"))})
        parts = [self.workload.label, "/".join(kinds)]
        parts += [] if self.draw == "spec" else [self.draw]
        parts += [] if self.layout == "contiguous" else [f"{self.layout} inputs"]
        parts += [] if self.program_order == "forward" else ["last program first"]
        return " ".join(parts)

    @property
    def inputs_key(self) -> tuple[object, ...]:
        """Equal for cases that have the same inputs."""
        return self.workload.label, tuple(sorted(self.dtypes.items())), self.draw


def case_inputs(spec: Spec, case: Case, seed: bytes, device: str = "cpu") -> Inputs:
    """The inputs of a case, in the case's dtypes, contiguous."""
    if case.draw.startswith("lattice:"):
        q = int(case.draw.removeprefix("lattice:"))
        return draw_lattice(spec, case.workload.axes, seed, case.dtypes, q, device)
    if case.draw == "again":
        return draw_inputs(spec, case.workload.axes, seed + b"again", case.dtypes, device=device)
    if case.draw.startswith("slot:"):
        return draw_inputs(spec, case.workload.axes, seed + case.draw.encode(), case.dtypes, device=device)
    if case.draw in DISTRIBUTIONS:
        return draw_inputs(spec, case.workload.axes, seed, case.dtypes, case.draw, device)
    inputs = draw_inputs(spec, case.workload.axes, seed, case.dtypes, device=device)
    if case.draw == "spec":
        return inputs
    return TRANSFORMS[case.draw].apply(spec, case.workload.axes, inputs, seed)
