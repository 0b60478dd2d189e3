"""Run the candidate in a box over a list of cases and keep what came back. Nothing here decides anything.

The box gets the candidate's source, the config and bytes of inputs. Expected values do not exist yet while it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import torch
from torch import Tensor

from ..boxes import choose, client, is_trusted
from ..contract import DTYPE_BYTES, Config, MeasuredTime, Plan, Rejected, Spec, candidate_id
from ..jobs import InterpretFailed, InterpretRequest, JudgeRequest
from ..poison import first_overwritten
from .cases import Case, case_inputs
from .inputs import torch_dtype
from .oracle import Oracle

RUN_TIMEOUT_S = 60.0
MARGIN_BYTES = 1024


@dataclass(frozen=True)
class Observation:
    """What one run of the candidate left behind."""

    case: Case
    outputs: tuple[Tensor, ...]
    """As the candidate returned them, contiguous; on the device of the inputs."""
    changed: Mapping[str, int]
    """Inputs that were overwritten, with the first element that differs."""
    written_outside: Mapping[str, int]
    """Buffers around which something was written, with the first byte: negative before the start, else past the end
    (gaps between strided elements count as past the end)."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Outputs that share memory with an input, and which."""
    accesses: int = 0
    """Loads, stores and atomics that the interpreter made; 0 on a device."""


@dataclass
class Observations:
    """All that the checks may look at."""

    spec: Spec
    config: Config
    plans: tuple[Plan, ...]
    ttir: Mapping[str, str]
    """Texts of the plans' kernels by SHA-256."""
    oracle: Oracle
    box: str = ""
    screened_only: bool = False
    observed: list[Observation] = field(default_factory=list)
    notes: dict[str, bool | int | float | str] = field(default_factory=dict)
    """Figures of what was not run, for the facts of the checks: shapes skipped, transforms outside the domain."""

    programs_wait: bool = False
    """Whether a run did not end when the last program of each grid ran first: its programs wait for earlier ones."""
    unchecked: list[str] = field(default_factory=list)
    """Cases that ran and whose oracle does not fit in memory."""
    bitwise: bool | None = None
    """Whether every output is the reference's own, bit for bit; None until that was asked."""
    times: tuple[MeasuredTime, ...] = ()
    floors_us: Mapping[str, float] = field(default_factory=dict)
    """By workload: the least bytes at this card's measured bandwidth."""

    def of(self, *groups: str) -> list[Observation]:
        return [one for one in self.observed if one.case.group in groups]

    def order_dependent(self) -> list[tuple[Observation, Observation]]:
        """Repeated runs whose outputs are not the first run's, bit for bit, with that first run."""
        pairs = [(one, self.at(one.case.twin_of)) for one in self.of("determinism") if one.case.twin_of]
        return [
            (one, first)
            for one, first in pairs
            if first and not all(same_bits(a, b) for a, b in zip(one.outputs, first.outputs, strict=True))
        ]

    def at(self, case: Case) -> Observation | None:
        return next((one for one in self.observed if one.case == case), None)


class Stopped(Exception):
    """The candidate did not come through a run: its rejection, or what the interpreter lacks."""

    def __init__(self, failed: InterpretFailed, case: Case, box: str) -> None:
        super().__init__(failed.rejected.message)
        self.failed, self.case, self.box = failed, case, box


class Observer:
    """One interpret session for all cases of a verdict. `with Observer(...) as observer: observer.run(cases)`."""

    def __init__(self, request: JudgeRequest, spec: Spec, seed: bytes) -> None:
        self.request, self.spec, self.seed = request, spec, seed
        self.session = choose(request.box.split()[0], trusted=is_trusted(request.proposer)).start("interpret")
        self.label = self.session.label

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.session.close()

    def run(self, cases: Iterable[Case]) -> list[Observation]:
        """Observations in order. Stopped where the candidate fails; SandboxUnavailable where the box does."""
        return [self._run(case) for case in cases]

    def _run(self, case: Case) -> Observation:
        request = InterpretRequest(
            source=self.request.source, spec=self.spec, config=self.request.config, workload=case.workload,
            dtypes=dict(case.dtypes), layout=case.layout, poison=case.poison, program_order=case.program_order,
            margin_bytes=MARGIN_BYTES, timeout_s=RUN_TIMEOUT_S, target=self.request.target,
        )  # fmt: skip
        inputs = case_inputs(self.spec, case, self.seed)
        blobs = {tensor.name: to_bytes(inputs[tensor.name]) for tensor in self.spec.tensor_inputs}
        del inputs
        reply, back = client.interpret(self.session, request, blobs)
        if isinstance(reply, InterpretFailed):
            raise Stopped(reply, case, self.label)
        try:
            outputs = tuple(
                to_tensor(back[f"output:{declared.name}"], array.shape, array.dtype)
                for declared, array in zip(self.spec.outputs, reply.outputs, strict=True)
            )
        except (ValueError, AttributeError, AssertionError) as error:
            raise Stopped(InterpretFailed(rejected=self._malformed(case, error)), case, self.label) from error
        changed, outside = self._changed(case, blobs, back), _written_outside(case, back)
        return Observation(case, outputs, changed, outside, reply.aliases, reply.accesses)

    def _changed(self, case: Case, before: Mapping[str, bytes], back: Mapping[str, bytes]) -> dict[str, int]:
        changed = {}
        for tensor in self.spec.tensor_inputs:
            was, now = before[tensor.name], back[f"input:{tensor.name}"]
            if was != now:
                at = next((i for i, (one, two) in enumerate(zip(was, now, strict=False)) if one != two), 0)
                changed[tensor.name] = at // DTYPE_BYTES[case.dtypes.get(tensor.name, tensor.dtype)]
        return changed

    def _malformed(self, case: Case, error: Exception) -> Rejected:
        text = f"The worker's answer does not hold the outputs that it declares: {error}."
        return Rejected(
            candidate_id=candidate_id(self.request.source), stage="launch", code="malformed_reply", message=text,
            config=self.request.config, workload=case.workload,
        )  # fmt: skip


def _written_outside(case: Case, back: Mapping[str, bytes]) -> dict[str, int]:
    """Cases use poison whose bytes are the same for every dtype."""
    found = {}
    for name, margin in back.items():
        if name.startswith("margin:"):
            at = first_overwritten(case.poison, "float32", margin)
            if at is not None:
                found[name.removeprefix("margin:")] = at - len(margin) // 2
    return found


def same_bits(one: Tensor, other: Tensor) -> bool:
    """Equal shape, dtype and bytes, on whatever device both are."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(torch.equal(flat_bytes(one), flat_bytes(other)))


def flat_bytes(tensor: Tensor) -> Tensor:
    """Contiguous row-major bytes as a flat uint8 tensor on the same device; a view where the tensor is contiguous."""
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def to_bytes(tensor: Tensor) -> bytes:
    """Contiguous row-major bytes."""
    return flat_bytes(tensor).cpu().numpy().tobytes() if tensor.numel() else b""


def to_tensor(blob: bytes, shape: tuple[int, ...], dtype: str) -> Tensor:
    """ValueError where the bytes do not fill the shape."""
    kind = torch_dtype(dtype)
    count = len(blob) // kind.itemsize
    if len(blob) != kind.itemsize * torch.Size(shape).numel():
        raise ValueError(f"{len(blob)} bytes for {tuple(shape)} of {dtype}")
    if count == 0:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(bytearray(blob), dtype=kind).reshape(shape)


def read_ttir(plans: Iterable[Plan], folder: Path) -> dict[str, str]:
    """Texts of all kernels by hash. FileNotFoundError where the caller did not write one."""
    hashes = {kernel.ttir_sha256 for plan in plans for kernel in plan.kernels}
    return {name: (folder / name).read_text() for name in sorted(hashes)}
