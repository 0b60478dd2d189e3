"""One launcher call as a Plan, without a GPU: fake CUDA tensors in, recorded steps out."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import torch
import triton
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

from ..contract import Contraction, Plan, Spec, TensorOutput, Workload, candidate_id, resolve_shape
from ..jobs import BuildJob, BuildRequest, Layout
from ..targets import Target
from .fake_cuda import capability, install
from .guard import Watch, install_guard
from .launches import CompileUnit, Launches, redirect_launches
from .record import AnswerHost, RecordAten
from .refusal import Refusal
from .source import line_of_traceback, load_candidate, place
from .storage import Storages
from .structure import check_outputs

CALLS = 12
"""Captures of a small shape, all of which must be the same; other shapes are captured twice."""


@dataclass(frozen=True)
class Capture:
    """A plan whose launches are not yet compiled. `keys` names the compile unit of each launch, in order."""

    plan: Plan
    keys: tuple[str, ...]
    units: dict[str, CompileUnit]

    def unit(self, key: str) -> CompileUnit:
        """The unit of that key, which an earlier capture of the same job named."""
        if key not in self.units:
            raise Refusal(
                "capture", "not_repeatable", "run launched another kernel when it was captured again in a new process."
            )
        return self.units[key]


class Capturer:
    """Captures jobs of one candidate, in a process that `prepare` has made fit for it."""

    @classmethod
    def prepare(cls, request: BuildRequest) -> Capturer:
        """Give this process the fake device and the guard. Cannot be undone: call it once, in a child."""
        watch, current = Watch(), list[Launches]()
        target = install(request.target)
        redirect_launches(current)
        install_guard(watch)
        return cls(request.source, request.spec, target, watch, current)

    def __init__(self, source: str, spec: Spec, target: Target, watch: Watch, current: list[Launches]) -> None:
        self.source, self.spec, self.target = source, spec, target
        self.watch, self.current = watch, current
        self.mode = FakeTensorMode(allow_non_fake_inputs=False)

    def capture(self, job: BuildJob) -> Capture:
        """The plan of one job. Raises Refusal; `run` is called several times and must do the same every time."""
        self.watch.first = None
        module = self._load()
        first, storages = self._call(module, job, None)
        for _ in range(CALLS - 1 if job.workload.role == "twin" else 1):
            second, storages = self._call(module, job, storages)
            if (first.plan.canonical(), first.keys) != (second.plan.canonical(), second.keys):  # NaN is no NaN's equal
                raise Refusal(
                    "capture",
                    "not_repeatable",
                    f"run did not do the same on a later call ({_difference(first, second)}). "
                    "A launcher keeps no state between calls.",
                )
        return first

    def _load(self) -> ModuleType:
        storages = Storages(self.watch)
        recorder = RecordAten(storages, self.watch, ())
        with self._candidate_code(), self._fake_tensors(), recorder, AnswerHost(storages, self.watch):
            return load_candidate(self.source)

    @contextlib.contextmanager
    def _fake_tensors(self) -> Iterator[None]:
        with self.mode:
            torch._C._set_only_lift_cpu_tensors(True)  # torch does this only where it believes that CUDA is absent
            yield

    @contextlib.contextmanager
    def _candidate_code(self) -> Iterator[None]:
        """Run candidate code under the guard; every way in which it can fail becomes a Refusal."""
        try:
            with self.watch.candidate_code(), torch.no_grad():
                yield
        except Refusal as refusal:
            self.watch.note(refusal)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            where = place(line_of_traceback(error.__traceback__))
            self.watch.note(
                Refusal("capture", "reads_value", f"{where} depends on a tensor's contents ({error.func}).")
            )
        except BaseException as error:  # SystemExit and KeyboardInterrupt from a candidate are failures of it too
            where = place(line_of_traceback(error.__traceback__))
            text = " ".join(str(error).split())[:600]
            self.watch.note(
                Refusal(
                    "capture",
                    "launcher_error",
                    f"{where} raised {type(error).__name__}: {text}",
                    error=type(error).__name__,
                )
            )
        if self.watch.first is not None:
            raise self.watch.first

    def _call(self, module: ModuleType, job: BuildJob, earlier: Storages | None) -> tuple[Capture, Storages]:
        storages = Storages(self.watch, earlier)
        recorder = RecordAten(storages, self.watch, self.spec.accept.library)
        launches = Launches(storages, self.watch, recorder, capability(self.target))
        with self.mode:
            tensors = _inputs(self.spec, job)
        for name, tensor in tensors.items():
            storages.add(tensor, input_name=name)
        inputs = {name: storages.view(tensor) for name, tensor in tensors.items()}
        values = [tensors[i.name] if i.kind == "tensor" else i.value for i in self.spec.inputs]
        run = getattr(module, "run", None)
        if not callable(run):
            raise Refusal("source", "no_run", "candidate.py defines no function run(*inputs, **config).")
        self.current.append(launches)
        try:
            with self._candidate_code(), self._fake_tensors(), recorder, AnswerHost(storages, self.watch):
                returned = run(*values, **job.config.root)
        finally:
            self.current.pop()
        expected = _expected(self.spec, job.workload, job)
        results = check_outputs(returned, expected, storages, recorder.steps)
        outputs = {
            output.name: storages.view(tensor) for output, tensor in zip(self.spec.outputs, results, strict=True)
        }
        plan = Plan(
            spec_sha256=self.spec.sha256,
            candidate_id=candidate_id(self.source),
            config=job.config,
            workload=job.workload,
            dtypes={name: view.dtype for name, view in inputs.items()},
            target=self.target.name,
            versions={"torch": torch.__version__, "triton": triton.__version__},
            compiled=False,
            buffers=storages.buffers({view.buffer for view in outputs.values()}),
            kernels=(),
            steps=tuple(recorder.steps),
            inputs=inputs,
            outputs=outputs,
            hybrid=any(isinstance(step, Contraction) for step in recorder.steps),
        )
        return Capture(plan, tuple(launches.keys), launches.units), storages


def _inputs(spec: Spec, job: BuildJob) -> dict[str, torch.Tensor]:
    return {
        i.name: _input(
            resolve_shape(i.shape, job.workload.axes),
            getattr(torch, job.dtypes.get(i.name, i.dtype)),
            job.layout,
            2 + place,
        )
        for place, i in enumerate(spec.tensor_inputs)
    }


def _input(shape: tuple[int, ...], dtype: torch.dtype, layout: Layout, step: int) -> torch.Tensor:
    """A fake tensor; a strided one takes every `step`-th element, another step for each input. Without axes a tensor
    cannot be strided."""
    device = torch.device("cuda", 0)
    if layout == "contiguous" or (layout == "strided" and not shape):
        return torch.empty(shape, dtype=dtype, device=device)
    wide = step if layout == "strided" else 1
    plain = torch.empty(shape, dtype=dtype, device="meta").stride()
    count = wide * math.prod(shape) + (layout == "offset")
    return torch.empty(count, dtype=dtype, device=device).as_strided(
        shape, [wide * stride for stride in plain], int(layout == "offset")
    )


def _expected(spec: Spec, workload: Workload, job: BuildJob) -> list[tuple[TensorOutput, tuple[int, ...], str]]:
    """Each output with its shape and dtype. Where the job changes a dtype of inputs, outputs of that dtype follow."""
    changed = {i.dtype: job.dtypes[i.name] for i in spec.tensor_inputs if i.name in job.dtypes}
    return [
        (output, resolve_shape(output.shape, workload.axes), changed.get(output.dtype, output.dtype))
        for output in spec.outputs
    ]


def _difference(first: Capture, second: Capture) -> str:
    if len(first.plan.steps) != len(second.plan.steps):
        return f"{len(first.plan.steps)} steps, then {len(second.plan.steps)}"
    for index, (one, two) in enumerate(zip(first.plan.steps, second.plan.steps, strict=True)):
        if one.canonical() != two.canonical():
            name = getattr(one, "kernel_name", one.kind)
            return f"step {index} ({name}) differs"
    return "its kernels or outputs differ"
