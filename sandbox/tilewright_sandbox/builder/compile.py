"""One compile unit → one Kernel with its cubin and TTIR, on a machine with no GPU."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton.compiler import CompilationError
from triton.runtime.jit import JITCallable

from ..contract import Kernel, Record
from ..targets import Target
from .fake_cuda import gpu_target
from .last_words import telling_lines
from .launches import CompileUnit
from .refusal import Refusal
from .resources import read_resources
from .source import FILENAME, place

# CUtensorMapDataType of the host for each element type that the compiler names: fp16/fp32/fp64/bf16 are numbered apart
_HOST_ELEM_TYPE = {8: 10, 9: 8, 10: 9}
_TENSOR_MEMORY_COLUMNS = 512
_TRITON = str(Path(triton.__file__).parent)


class DescriptorLayout(Record):
    """What the compiler chose for one host-made TMA descriptor."""

    swizzle: int
    elem_size: int
    elem_type: int
    block_shape: tuple[int, ...]
    fp4_padded: bool


class CompiledUnit(Record):
    kernel: Kernel
    descriptors: tuple[DescriptorLayout, ...] = ()


@dataclass(frozen=True)
class Artefact:
    unit: CompiledUnit
    blobs: dict[str, bytes]


def compile_unit(unit: CompileUnit, target: Target, folder: Path) -> Artefact:
    """Compile for `target` and measure against its limits. `folder` is private to this call.

    Raises Refusal(compile): `triton_error`, or `out_of_resources` with `resource`, `needed` and `limit` as evidence.
    """
    try:
        compiled = triton.compile(unit.source, target=gpu_target(target), options=unit.options)
    except OSError:
        raise  # no disk, no ptxas: the machine's failure
    except Exception as error:
        raise _compile_error(error, unit, folder / "log") from error
    metadata, cubin = compiled.metadata, compiled.asm["cubin"]
    name = str(unit.source.name)
    _check_limit(name, "shared memory bytes", metadata.shared, target.shared_per_block_bytes)
    _check_limit(name, "tensor memory columns", getattr(metadata, "tmem_size", 0) or 0, _TENSOR_MEMORY_COLUMNS)
    _check_limit(name, "threads", metadata.num_warps * 32, 1024)
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    resources = read_resources(path, metadata.shared)
    _check_limit(name, "registers", resources.registers * metadata.num_warps * 32, target.registers_per_sm)
    ttir = portable_ttir(compiled.asm["ttir"]).encode()
    kernel = Kernel(
        name=metadata.name,
        cubin_sha256=hashlib.sha256(cubin).hexdigest(),
        ttir_sha256=hashlib.sha256(ttir).hexdigest(),
        num_warps=metadata.num_warps,
        num_stages=metadata.num_stages,
        num_ctas=metadata.num_ctas,
        cluster=(metadata.num_ctas, 1, 1),
        shared_bytes=metadata.shared,
        global_scratch_bytes=metadata.global_scratch_size,
        global_scratch_align=metadata.global_scratch_align,
        profile_scratch_bytes=metadata.profile_scratch_size,
        cooperative=bool(metadata.launch_cooperative_grid),
        launch_pdl=bool(metadata.launch_pdl),
        signature=tuple(_flat_types(list(unit.source.signature.values()), metadata.tensordesc_meta)),
        constants=_constants(unit.source),
        resources=resources,
    )
    layouts = tuple(_layout(meta) for meta in metadata.tensordesc_meta or ())
    blobs = {kernel.cubin_sha256: cubin, kernel.ttir_sha256: ttir}
    return Artefact(CompiledUnit(kernel=kernel, descriptors=layouts), blobs)


def portable_ttir(text: str) -> str:
    """TTIR without the folder that triton is installed in: the same text on every machine."""
    return text.replace(_TRITON, "triton")


def _layout(meta: dict[str, Any]) -> DescriptorLayout:
    return DescriptorLayout(
        swizzle=meta["swizzle"],
        elem_size=meta["elem_size"],
        elem_type=_HOST_ELEM_TYPE.get(int(meta["elem_type"]), int(meta["elem_type"])),
        block_shape=tuple(meta["block_size"]),
        fp4_padded=meta["fp4_padded"],
    )


def _flat_types(kinds: Any, descriptors: Any) -> list[str]:
    """Triton's type of each parameter of the cubin, as its launcher lays them out."""
    flat: list[str] = []
    for kind in kinds:
        if isinstance(kind, tuple):
            flat += _flat_types(kind, descriptors)
        elif kind.startswith("tensordesc"):
            rank = kind[kind.index("[") : kind.index("]")].count(",") + 1
            if descriptors:
                flat.append("nvTmaDesc")
            else:
                flat += ["*" + kind[len("tensordesc<") : kind.index("[")], *["i64"] * (2 * rank), "i1"]
            flat += [*["i32"] * rank, *["i64"] * rank]
        elif kind != "constexpr":
            flat.append(kind)
    return flat


def _constants(source: Any) -> dict[str, str]:
    names = list(source.signature)
    return {
        names[path[0]] + "".join(f"[{index}]" for index in path[1:]): _constant_text(value)
        for path, value in sorted(source.constants.items())
    }


def _constant_text(value: Any) -> str:
    """The constant as text, without an address in memory."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(getattr(value, "__name__", value)))


def _check_limit(kernel: str, resource: str, needed: int, limit: int) -> None:
    if needed > limit:
        raise Refusal(
            "compile",
            "out_of_resources",
            f"Kernel {kernel} needs {needed} {resource}; the target has {limit}. Take a smaller tile or fewer stages.",
            resource=resource.split(" bytes")[0],
            needed=needed,
            limit=limit,
        )


def _compile_error(error: Exception, unit: CompileUnit, log: Path) -> Refusal:
    """`log` is what the process wrote to stderr: a failed pass, or an assertion that Triton came through, says why
    there alone."""
    line, text = _line_of_definition(unit.source.fn), f"{type(error).__name__}: {error}"
    if isinstance(error, CompilationError):
        innermost = error
        while isinstance(innermost.__cause__, CompilationError):
            innermost = innermost.__cause__
        cause = innermost.__cause__
        text = innermost.error_message or (f"{type(cause).__name__}: {cause}" if cause else str(innermost))
        line = _line_in_candidate(error, unit)
    elif log.exists() and (why := telling_lines(log.read_text(errors="replace"))):
        text = f"{text}: {why}"
    where = f"{place(line)} (kernel {unit.source.name})"
    return Refusal("compile", "triton_error", f"{where}: {useful_lines(text)}", line=line)


def _line_in_candidate(error: CompilationError, unit: CompileUnit) -> int:
    """The deepest line of candidate source that the chain of errors names; a device function may be the library's."""
    functions = [value for value in unit.source.fn.__globals__.values() if isinstance(value, JITCallable)]
    line = _line_of_definition(unit.source.fn)
    link: BaseException | None = error
    while isinstance(link, CompilationError):
        owner = next((fn for fn in [unit.source.fn, *functions] if fn.src == link.src), None)
        if owner is not None and owner.fn.__code__.co_filename == FILENAME:
            line = _line_of_definition(owner) + int(getattr(link.node, "lineno", 1)) - 1
        link = link.__cause__
    return line


def _line_of_definition(function: Any) -> int:
    """The line of `def`, below the decorators."""
    above = next((n for n, text in enumerate(function.raw_src) if text.lstrip().startswith("def ")), 0)
    return int(function.starting_line_number) + above


def useful_lines(text: str, limit: int = 500) -> str:
    """The first lines of a compiler's message that say something, on one line."""
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not set(line) <= set("^~=- ") and "Repro command" not in line]
    return " ".join(kept)[:limit]
