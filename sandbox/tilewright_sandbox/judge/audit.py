"""Is a spec worth searching? Its reference is examined before any candidate is.

On 3 seeds of each of 6 distributions the reference must be deterministic and draw no random numbers, leave its
inputs alone, be finite, vary, heed every input and every eighth of it, and reject the degenerate bank. Whether a
result moved is decided by the judge's own error budget, so a tiny output counts as much as a large one. All at one
small shape: a result that is constant only at large extents is not found here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from ..contract import ScalarInput, TensorInput
from ..jobs import AuditFinding, AuditReport, AuditRequest
from ..spec import SpecFolder
from ..twins import base_shape, interpretable
from .degenerate import accepted_forgeries
from .inputs import draw_inputs, draw_tensor
from .probes import OWN, Probe, RandomCalls, bitwise_equal, copied, run_checked, shrunk_axes, take_probes
from .reference import PromoteFloats, Reference, widen

BLOCKS = 8
BOUND = "bound the inputs with low and high"


def audit(request: AuditRequest, folder: SpecFolder) -> AuditReport:
    """The findings, one a property. SpecError where the reference fails or does not give what the spec declares."""
    started = time.monotonic()
    torch.manual_seed(request.seed)
    findings = _Audit(Reference(folder), f"audit {request.seed}".encode()).findings()
    return AuditReport(
        spec_sha256=folder.spec.sha256, findings=tuple(findings), seconds=round(time.monotonic() - started, 3)
    )


class _Audit:
    def __init__(self, reference: Reference, seed: bytes) -> None:
        self.reference, self.spec, self.seed = reference, reference.spec, seed
        self.axes: dict[str, int] = {}
        self.probes: list[Probe] = []

    def findings(self) -> list[AuditFinding]:
        axes = base_shape(self.spec, lambda _: True)
        if axes is None:
            message = "the smallest shapes of the domain are too large to audit on a CPU — widen [axes] downwards"
            return [AuditFinding(name="shape", status="NOT_RUN", message=message)]
        self.axes = axes
        unruly = [*self._randomness(), *self._purity()]
        if unruly:
            return unruly
        self.probes = take_probes(self.reference, axes, self.seed)
        checks: list[tuple[str, Callable[[], Iterator[str]], str]] = [
            (
                "deterministic",
                self._indeterminate,
                "equal inputs give equal outputs; no random numbers, inputs unchanged",
            ),
            ("finite", self._infinite, "finite on the spec's own distribution"),
            ("varies", self._constant, f"every output differs among {len(self.probes)} drawings of the inputs"),
            ("heeds inputs", self._unheeded, f"every input, and every 1/{BLOCKS} of it, moves an output"),
            (
                "not degenerate",
                self._degenerate,
                "zeros, constants, other results, inputs and permutations are refused",
            ),
        ]
        if self.spec.accept.grad:
            checks.append(("gradients", self._gradients, "autograd gives finite gradients that are not zero"))
        return [self._finding(name, list(complaints()), passed) for name, complaints, passed in checks]

    def _finding(self, name: str, complaints: list[str], passed: str) -> AuditFinding:
        facts: dict[str, bool | int | float | str] = {
            "seeds": len({probe.seed for probe in self.probes}),
            "distributions": len({probe.distribution for probe in self.probes}),
            "shape": ", ".join(f"{axis} = {extent}" for axis, extent in self.axes.items()),
        }
        if complaints:
            return AuditFinding(name=name, status="FAIL", message="; ".join(complaints[:3]), facts=facts)
        return AuditFinding(name=name, status="PASS", message=passed, facts=facts)

    @property
    def own(self) -> list[Probe]:
        return [probe for probe in self.probes if probe.distribution == OWN]

    # ------------------------------------------------------------------------------------- before anything else

    def _randomness(self) -> Iterator[AuditFinding]:
        inputs = draw_inputs(self.spec, self.axes, self.seed)
        calls = RandomCalls(str(self.reference.file))
        with calls:
            run_checked(self.reference, inputs, self.axes)
        corner = shrunk_axes(self.spec)
        if interpretable(self.spec, corner):
            run_checked(self.reference, draw_inputs(self.spec, corner, self.seed), corner)
        if calls.found:
            op, line = calls.found[0]
            where = f"{self.reference.file.name}:{line}: " if line else ""
            message = f"{where}draws random numbers ({op}) — make them an input"
            yield self._finding("deterministic", [message], "")

    def _purity(self) -> Iterator[AuditFinding]:
        for widened in (False, True):
            inputs = copied(draw_inputs(self.spec, self.axes, self.seed))
            inputs = widen(inputs) if widened else inputs
            kept = copied(inputs)
            (self.reference.run_float64 if widened else self.reference.run)(inputs)
            names = [n for n, v in kept.items() if isinstance(v, Tensor) and not bitwise_equal(v, inputs[n])]
            if names:
                when = " where that is wide already and .float() makes no copy" if widened else ""
                message = (
                    f'{self.reference.file.name} writes to its input "{names[0]}"{when} — use out-of-place operations'
                )
                yield self._finding("inputs unchanged", [message], "")
                return

    # --------------------------------------------------------------------------------------------- complaints

    def _indeterminate(self) -> Iterator[str]:
        for probe in self.probes:
            again = self.reference.run(copied(probe.inputs))
            for output, first, second in zip(self.spec.outputs, probe.native, again, strict=True):
                if not bitwise_equal(first, second):
                    yield f'output "{output.name}" differs between two runs on equal inputs — keep no state'
                    return

    def _infinite(self) -> Iterator[str]:
        for number, output in enumerate(self.spec.outputs):
            for probe in self.own:
                native, exact = probe.native[number], probe.exact[number]
                if not native.is_floating_point():
                    continue
                if bool(native.isnan().any()):
                    share = float(native.isnan().double().mean())
                    yield f'output "{output.name}" is NaN in {share:.0%} of its elements — {BOUND}'
                    break
                if bool((native.isinf() & exact.isfinite()).any()):
                    yield f'output "{output.name}" overflows {output.dtype} — bound the inputs, or widen the dtype'
                    break

    def _constant(self) -> Iterator[str]:
        first, *others = self.probes
        for number, output in enumerate(self.spec.outputs):
            if all(first.agrees(number, other.exact[number]) for other in others):
                zero = first.agrees(number, torch.zeros_like(first.exact[number]))
                what = "identically zero" if zero else "constant"
                yield f'output "{output.name}" is {what}, whatever the inputs — mend the reference'

    def _unheeded(self) -> Iterator[str]:
        for item in self.spec.inputs:
            if isinstance(item, TensorInput):
                yield from self._unheeded_tensor(item)
            elif isinstance(item.value, float) and not self._scalar_moves(item, item.value):
                yield f'scalar "{item.name}" changes nothing — use it, or choose fills on which it matters'

    def _unheeded_tensor(self, item: TensorInput) -> Iterator[str]:
        count = self.probes[0].inputs[item.name].numel()
        blocks = min(BLOCKS, count)
        edges = [count * block // blocks for block in range(blocks + 1)]
        moved_by = [self._first_moved(item, edges[block], edges[block + 1]) for block in range(blocks)]
        if not any(moved_by):
            yield f'input "{item.name}" moves no output — the reference ignores it, or its effect is below rounding'
        elif OWN not in moved_by:
            kinds = ", ".join(sorted({kind for kind in moved_by if kind}))
            message = f'input "{item.name}" moves an output under {kinds} but not under its own fill'
            yield f"{message} — mend its fill, low or high"
        elif None in moved_by:
            block = moved_by.index(None)
            span = f"elements {edges[block]} to {edges[block + 1] - 1} of {count}"
            yield f'{span} of input "{item.name}" move no output — use them, or leave them out of its shape'

    def _first_moved(self, item: TensorInput, low: int, high: int) -> str | None:
        """The first distribution under which redrawing these elements moves an output beyond its rounding."""
        for probe in self.probes:
            fresh = draw_tensor(item, self.axes, probe.seed + b"moved", distribution=probe.distribution)
            value = probe.inputs[item.name].clone()
            value.view(-1)[low:high] = fresh.view(-1)[low:high]
            if not probe.all_agree(self.reference.run_float64(probe.inputs | {item.name: value})):
                return probe.distribution
        return None

    def _scalar_moves(self, item: ScalarInput, value: float) -> bool:
        other = value * 1.5 if value else 0.5
        return any(
            not bitwise_equal(moved, exact)
            for probe in self.probes
            for moved, exact in zip(
                self.reference.run_float64(probe.inputs | {item.name: other}), probe.exact, strict=True
            )
        )

    def _degenerate(self) -> Iterator[str]:
        for forgery in accepted_forgeries(self.reference, self.own):
            yield f"{forgery} — choose fills, bounds or a dtype under which it is wrong"

    def _gradients(self) -> Iterator[str]:
        probe = self.own[0]
        inputs: dict[str, Any] = widen(probe.inputs)
        wanted = [inputs[name].requires_grad_() for name in self.spec.accept.grad]
        with PromoteFloats(), torch.enable_grad():
            result = self.reference.function(*inputs.values())
            outputs = result if isinstance(result, tuple | list) else (result,)
            total = sum(
                (o * torch.linspace(0.5, 1.5, o.numel()).reshape(o.shape)).sum() for o in outputs if o.requires_grad
            )
        found = (
            torch.autograd.grad(total, wanted, allow_unused=True) if isinstance(total, Tensor) else [None] * len(wanted)
        )
        for name, gradient in zip(self.spec.accept.grad, found, strict=True):
            if gradient is None or not bool(gradient.any()):
                yield f'the gradient of "{name}" is zero — take it out of accept.grad, or mend the reference'
            elif not bool(gradient.isfinite().all()):
                yield f'the gradient of "{name}" is not finite — {BOUND}'
