"""Records Triton launches in place of making them: the arguments, the grid, and what has to be compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from triton.runtime.jit import JITFunction, compute_cache_key

from ..contract import Launch
from .arguments import expand, unwrap, wrap
from .guard import Watch
from .record import RecordAten
from .source import here
from .storage import Storages

GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)


@dataclass(frozen=True)
class CompileUnit:
    """One specialisation of one kernel. `key` names it across the jobs of a request."""

    key: str
    source: Any
    options: dict[str, Any] = field(hash=False)


@dataclass
class Launches:
    """The launches of one capture; `keys` runs beside the Launch steps, one compile unit each."""

    storages: Storages
    watch: Watch
    recorder: RecordAten
    capability: int
    keys: list[str] = field(default_factory=list)
    units: dict[str, CompileUnit] = field(default_factory=dict)

    def record(self, kernel: Any, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> None:
        """One `kernel[grid](*args, **kwargs)`. A grid with no programs launches nothing, as in Triton."""
        for hook in kernel.pre_run_hooks:
            hook(*args, **kwargs)
        args = tuple(wrap(value, self.storages, self.watch) for value in args)
        kwargs = {name: wrap(value, self.storages, self.watch) for name, value in kwargs.items()}
        with self.watch.own_code():
            kwargs["debug"] = kwargs.get("debug", kernel.debug) or False
            kwargs["instrumentation_mode"] = ""
            _, key_cache, target, backend, binder = kernel.device_caches[0]
            bound, specialization, options = binder(*args, **kwargs)
            compute_cache_key(key_cache, specialization, options)
            options, signature, constants, attributes = kernel._pack_args(
                backend, kwargs, bound, specialization, options
            )
        size = self._grid(grid(_meta(bound)) if callable(grid) else grid)
        if 0 in size:
            return
        arguments = [
            argument
            for name, kind in signature.items()
            for argument in expand(kind, bound[name], self.storages, self.capability)
        ]
        with self.watch.own_code():
            source = kernel.ASTSource(kernel, signature, constants, attributes)
            text = f"{source.hash()}\n{options.hash()}\n{target}"
        key = hashlib.sha256(text.encode()).hexdigest()
        self.units.setdefault(key, CompileUnit(key, source, dict(options.__dict__)))
        self.keys.append(key)
        self.recorder.steps.append(
            Launch(kernel=-1, kernel_name=kernel.__name__, grid=size, arguments=tuple(arguments))
        )

    def _grid(self, grid: Any) -> tuple[int, int, int]:
        sizes = tuple(grid) if isinstance(grid, list | tuple) else (grid,)
        if not 1 <= len(sizes) <= 3 or not all(isinstance(n, int) and n >= 0 for n in sizes):
            self.watch.refuse(
                "capture", "grid_not_integers", f"{here()} launches the grid {grid!r}. Give one to three integers ≥ 0."
            )
        x, y, z = (*sizes, 1, 1)[:3]
        for axis, extent, limit in zip("xyz", (x, y, z), GRID_LIMITS, strict=True):
            if extent > limit:
                self.watch.refuse(
                    "launch",
                    "grid_too_large",
                    f"{here()} launches {extent} programs along {axis}; CUDA allows {limit}. Fold the extent into x.",
                    needed=extent,
                    limit=limit,
                )
        return x, y, z


def _meta(bound: Mapping[str, Any]) -> dict[str, Any]:
    return {name: unwrap(value) for name, value in bound.items()}


def redirect_launches(current: list[Launches]) -> None:
    """Make every Triton launch of this process record into `current[-1]`. Cannot be undone."""

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        if not current:
            raise RuntimeError("a kernel was launched while the module was imported; launch inside run")
        launches = current[-1]
        if warmup:
            launches.watch.refuse(
                "capture",
                "warmup_not_supported",
                f"{here()} compiles a kernel to read its resources. Make the choice a parameter in SPACE instead.",
            )
        launches.record(self, args, grid, kwargs)

    JITFunction.run = run
