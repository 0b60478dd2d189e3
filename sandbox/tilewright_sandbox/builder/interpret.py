"""Serve an InterpretRequest: run a candidate on CPU tensors under Triton's interpreter and answer with bytes.

The process must have TRITON_INTERPRET=1 before triton is imported. One candidate a process.
"""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

import numpy as np
import torch
from triton.runtime.interpreter import InterpreterBuilder

from ..contract import DTYPE_BYTES, Rejected, Stage, candidate_id, resolve_shape
from ..jobs import Array, Interpreted, InterpretFailed, InterpretRequest
from . import fake_cuda, interpreter_hooks
from .arena import Arenas, dtype_name
from .cpu_device import AtenRule, CudaFace, LaunchLog
from .interpreter_hooks import Unsupported
from .program_order import program_order
from .refusal import Refusal
from .returned import plain_tensor, returned_values, storage_address, tensor_bytes, tensor_form
from .source import line_of_traceback, load_candidate, place

MESSAGE_CHARACTERS = 2000


class _Deadline(BaseException):
    """The request's time is up."""


class Interpreter:
    """The candidate of this process, loaded once; each request runs it on fresh arenas."""

    def __init__(self) -> None:
        self._module: ModuleType | None = None
        self._source: str | None = None
        self._target: str | None = None

    def serve(
        self, request: InterpretRequest, blobs: Mapping[str, bytes]
    ) -> tuple[Interpreted | InterpretFailed, dict[str, bytes]]:
        """ValueError for a request that does not fit its spec, or names a second candidate."""
        if self._source not in (None, request.source):
            raise ValueError("a session serves one candidate, and this request brings a second one")
        _check_blobs(request, blobs)
        if unusable := [dtype for dtype in self._dtypes(request).values() if dtype == "bfloat16"]:
            return _failed(request, "launch", "unsupported", f"Inputs in {unusable[0]}.", unsupported="bfloat16 inputs")
        self._prepare(request)
        started = time.monotonic()
        log = LaunchLog(Arenas(request.poison, request.margin_bytes))
        try:
            with _deadline(request.timeout_s), np.errstate(all="ignore"):
                inputs = self._inputs(request, blobs, log.arenas)
                outputs = self._run(request, inputs, log)
        except BaseException as error:  # whatever a candidate raises, SystemExit included, is its own failure
            return _failure(request, error), {}
        return _answer(request, inputs, outputs, log, time.monotonic() - started)

    def _prepare(self, request: InterpretRequest) -> None:
        if self._target != request.target:
            self._target = request.target
            fake_cuda.install(request.target)
            interpreter_hooks.install()

    @staticmethod
    def _dtypes(request: InterpretRequest) -> dict[str, str]:
        return {tensor.name: request.dtypes.get(tensor.name, tensor.dtype) for tensor in request.spec.tensor_inputs}

    def _inputs(self, request: InterpretRequest, blobs: Mapping[str, bytes], arenas: Arenas) -> dict[str, Any]:
        """Every argument of `run`, in the spec's order."""
        dtypes, arguments = self._dtypes(request), dict[str, Any]()
        for given in request.spec.inputs:
            if given.kind == "scalar":
                arguments[given.name] = given.value
                continue
            shape = resolve_shape(given.shape, request.workload.axes)
            dtype: torch.dtype = getattr(torch, dtypes[given.name])
            arguments[given.name] = arenas.place(given.name, blobs[given.name], shape, dtype, request.layout)
        return arguments

    def _run(self, request: InterpretRequest, inputs: dict[str, Any], log: LaunchLog) -> tuple[torch.Tensor, ...]:
        if self._module is None:
            self._source = request.source
            self._module = load_candidate(request.source)
        interpreter_hooks.observe(log)
        try:
            with CudaFace(log), AtenRule(log, request.spec.accept.library), program_order(request.program_order):
                returned = self._module.run(*inputs.values(), **request.config.root)
        finally:
            interpreter_hooks.observe(None)
        values = returned_values(returned)
        if len(values) != (count := len(request.spec.outputs)):
            text = f"run returned {len(values)} tensors, and the spec has {count} outputs."
            raise Refusal("structure", "output_count", text)
        return tuple(
            plain_tensor(value, output.name) for value, output in zip(values, request.spec.outputs, strict=True)
        )


_interpreter = Interpreter()
serve_interpret = _interpreter.serve


def _check_blobs(request: InterpretRequest, blobs: Mapping[str, bytes]) -> None:
    for tensor in request.spec.tensor_inputs:
        shape = resolve_shape(tensor.shape, request.workload.axes)
        expected = int(np.prod(shape, dtype=np.int64)) * DTYPE_BYTES[request.dtypes.get(tensor.name, tensor.dtype)]
        if len(blobs.get(tensor.name, b"")) != expected:
            raise ValueError(f"input {tensor.name}: {len(blobs.get(tensor.name, b''))} bytes, expected {expected}")


def _answer(
    request: InterpretRequest, inputs: dict[str, Any], outputs: tuple[torch.Tensor, ...], log: LaunchLog, seconds: float
) -> tuple[Interpreted, dict[str, bytes]]:
    blobs: dict[str, bytes] = {}
    arrays, aliases = [], {}
    for declared, output in zip(request.spec.outputs, outputs, strict=True):
        arena = log.arenas.at(storage_address(output))
        if arena is not None and arena.name in inputs:
            aliases[declared.name] = arena.name
        shape, dtype, contiguous = tensor_form(output)
        arrays.append(Array(shape=shape, dtype=dtype_name(dtype), contiguous=contiguous))
        blobs[f"output:{declared.name}"] = tensor_bytes(output)
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            blobs[f"input:{name}"] = tensor_bytes(value)
    for arena in log.arenas.all:
        blobs[f"margin:{arena.name}"] = arena.margin()
    reply = Interpreted(
        outputs=tuple(arrays),
        aliases=aliases,
        launches=tuple(log.launches),
        aten=tuple(log.aten),
        accesses=log.accesses,
        seconds=seconds,
    )
    return reply, blobs


@contextmanager
def _deadline(timeout_s: float) -> Iterator[None]:
    def ring(signum: int, frame: FrameType | None) -> NoReturn:
        raise _Deadline

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, timeout_s, 1.0)  # again, should the candidate swallow the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _failed(
    request: InterpretRequest, stage: Stage, code: str, message: str, *, unsupported: str = ""
) -> tuple[InterpretFailed, dict[str, bytes]]:
    rejected = Rejected(
        candidate_id=candidate_id(request.source),
        stage=stage,
        code=code,
        message=message[:MESSAGE_CHARACTERS],
        config=request.config,
        workload=request.workload,
    )
    return InterpretFailed(rejected=rejected, unsupported=unsupported), {}


def _missing_in_interpreter(error: BaseException) -> str:
    """What the interpreter lacks, where that is why `error` was raised."""
    text = str(error)
    if isinstance(error, Unsupported | NotImplementedError):
        return text or type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    raised_in = Path(frames[-1].filename).parts[-2:] if frames else ()
    # The builder compiled this kernel, so a missing method, dtype or case is the interpreter's.
    case = raised_in == ("runtime", "interpreter.py") and (
        isinstance(error, AttributeError | KeyError) or "nsupported" in text
    )
    method = isinstance(error, AttributeError) and type(error.obj) is InterpreterBuilder
    unpatched = raised_in == ("language", "core.py") and isinstance(error, ValueError) and "`_semantic`" in text
    return f"{type(error).__name__}: {text}" if case or method or unpatched else ""


def _failure(request: InterpretRequest, error: BaseException) -> InterpretFailed:
    while error.__cause__ is not None and type(error).__name__ == "InterpreterError":
        error = error.__cause__
    if isinstance(error, Refusal):
        rejected = error.rejected(candidate_id(request.source), request.config, request.workload)
        return InterpretFailed(rejected=rejected)
    where = place(line_of_traceback(error.__traceback__))
    if missing := _missing_in_interpreter(error):
        text = f"{where}: Triton's interpreter cannot run this: {missing}."
        return _failed(request, "launch", "unsupported", text, unsupported=missing[:200])[0]
    if isinstance(error, _Deadline):
        text = f"{where}: run took longer than {request.timeout_s:g} s under the interpreter. Shrink the loop."
        return _failed(request, "launch", "timeout", text)[0]
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return _failed(request, "launch", "out_of_memory", f"{where}: memory ran out. Allocate less.")[0]
    text = f"{where}: run raised {type(error).__name__}: {error}"
    return _failed(request, "launch", "raised", text)[0]
