"""What a candidate is measured against: the reference as it is, compiled, and compiled with autotuning."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch

from ...contract import Spec
from ..reference import Reference
from .peaks import cache_folder

Baseline = Literal["eager", "compile", "max-autotune"]
_MODES: dict[Baseline, str] = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}


@contextlib.contextmanager
def precision(spec: Spec) -> Iterator[None]:
    """The spec's precision policy for every arm: `ieee` allows no TF32 anywhere, `tf32` allows it everywhere; sums of
    half-precision products are kept in float32."""
    matmul: Any = torch.backends.cuda.matmul
    cudnn: Any = torch.backends.cudnn
    kept = (
        matmul.allow_tf32, cudnn.allow_tf32, matmul.allow_bf16_reduced_precision_reduction,
        matmul.allow_fp16_reduced_precision_reduction,
    )  # fmt: skip
    allowed = spec.accept.precision == "tf32"
    matmul.allow_tf32 = cudnn.allow_tf32 = allowed
    matmul.allow_bf16_reduced_precision_reduction = matmul.allow_fp16_reduced_precision_reduction = False
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = kept[0], kept[1]
        matmul.allow_bf16_reduced_precision_reduction = kept[2]
        matmul.allow_fp16_reduced_precision_reduction = kept[3]


class Baselines:
    """The spec's baselines as callables over a case's inputs; each compiled once for a shape, Inductor's cache kept."""

    def __init__(self, spec: Spec, reference: Reference) -> None:
        self.spec, self.reference = spec, reference
        self.missing: dict[str, str] = {}
        """Baselines that cannot be had here, and why."""
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "inductor"))
        if any(name != "eager" for name in spec.accept.baselines):
            import torch._dynamo

            torch._dynamo.config.recompile_limit = 64  # one entry a mode and shape; all must stay compiled

    def of(self, inputs: dict[str, Any]) -> dict[str, Callable[[dict[str, Any]], Any]]:
        """By name; each has been called once on `inputs`."""
        found: dict[str, Callable[[dict[str, Any]], Any]] = {}
        for name in self.spec.accept.baselines:
            call = self._call(self._function(name))
            try:
                call(inputs)
                torch.cuda.synchronize()
            except Exception as error:
                self.missing[name] = (str(error).splitlines() or [type(error).__name__])[0][:300]
                continue
            found[name] = call
        return found

    def _function(self, name: Baseline) -> Callable[..., Any]:
        if name == "eager":
            return self.reference.function
        made: Callable[..., Any] = torch.compile(self.reference.function, dynamic=False, mode=_MODES[name])
        return made

    def _call(self, function: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        names = [item.name for item in self.spec.inputs]

        def call(inputs: dict[str, Any]) -> Any:
            with torch.no_grad():
                return function(*[inputs[name] for name in names])

        return call
