"""Triton 3.6's interpreter, made to check every address and to reduce as a device does. Imported in interpret workers.

- Each load, store and atomic must lie inside one buffer's payload: anything else is Rejected(memory) at once, with the
  kernel, program, buffer and byte offset, where the interpreter would read a neighbour or crash.
- A reduction or scan with a combine function of the candidate's own runs as a tree over whole slices. The interpreter
  does it element by element: slower by the width of a slice, and with the rounding of a sequential sum.
- `tl.fma` rounds once, and the index of a loop is a tensor of the type that the compiler gives it, not a Python int.
- `triton.language` is patched once a launch, not once a call.
- Conversions to bfloat16 and float8 are refused: the interpreter truncates where a device rounds to nearest.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from . import libdevice_on_cpu
from .cpu_device import LaunchLog
from .refusal import Refusal
from .source import here

_FLOAT8 = frozenset({"fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16"})


class Unsupported(BaseException):
    """The interpreter lacks the construct, or has it wrong."""


class _Current:
    """The run that the hooks report to."""

    log: LaunchLog | None = None
    kernel = ""
    patches: ClassVar[dict[frozenset[int], Any]] = {}
    """Of the launch that runs: language modules that are patched, and how to restore them."""


def observe(log: LaunchLog | None) -> None:
    """Report launches and check addresses against the arenas of this run; None: of no run."""
    _Current.log = log


def _check(verb: str, pointers: Any, mask: Any = None) -> None:
    log = _Current.log
    if log is None:
        return
    log.accesses += 1
    addresses = np.asarray(pointers.data)
    if mask is not None:
        active = np.broadcast_to(np.asarray(mask.data, dtype=bool), addresses.shape)
        if not active.all():
            addresses = addresses[active]
    access_bytes = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
    if not addresses.size or (wrong := log.arenas.outside(addresses, access_bytes)) is None:
        return
    arena = log.arenas.at(wrong) or log.arenas.nearest(wrong)
    program = ", ".join(str(i) for i in interpreter.interpreter_builder.grid_idx)
    where = f"{here()}: kernel {_Current.kernel}, program ({program}), {verb}s {access_bytes} bytes"
    evidence: dict[str, bool | int | float | str] = {"kernel": _Current.kernel, "program": program}
    if arena is None:
        text = f"{where} where no buffer is"
    else:
        offset, size = wrong - arena.start, arena.end - arena.start
        evidence |= {"buffer": arena.name, "offset_bytes": offset, "buffer_bytes": size}
        text = f"{where} at offset {offset} of {arena.name} (the nearest buffer), which has {size} bytes"
    raise Refusal("memory", f"out_of_bounds_{verb}", f"{text}. Mask the access or bound the index.", **evidence)


def _combine(op: Any, left: list[Any], right: list[Any], dtypes: list[Any]) -> list[Any]:
    """The candidate's combine function on whole slices (numpy arrays of one shape, one a tuple member)."""
    tensors = [op.to_tensor(array, dtype) for array, dtype in zip(left + right, dtypes * 2, strict=True)]
    result = op.combine_fn.fn(*tensors)
    members = result if isinstance(result, tuple) else (result,)
    arrays = [member.handle.data if isinstance(member, tl.core.tensor) else member for member in members]
    return [np.broadcast_to(array, like.shape).astype(like.dtype) for array, like in zip(arrays, left, strict=True)]


def _tree_reduce(self: Any, input: tuple[Any, ...]) -> list[Any]:
    """Neighbours first, so that a combine function need not commute."""
    dtypes = [arg.dtype for arg in input]
    arrays = [arg.handle.data for arg in input]
    shape, axis = arrays[0].shape, self.axis
    if axis is None:
        arrays, axis = [array.reshape(-1) for array in arrays], 0
    arrays = [np.moveaxis(array, axis, 0) for array in arrays]
    while arrays[0].shape[0] > 1:
        arrays = _combine(self, [a[0::2] for a in arrays], [a[1::2] for a in arrays], dtypes)
    arrays = [array[0] for array in arrays]
    if self.keep_dims:
        kept = (1,) * len(shape) if self.axis is None else (*shape[:axis], 1, *shape[axis + 1 :])
        arrays = [array.reshape(kept) for array in arrays]
    return [self.to_tensor(array, dtype) for array, dtype in zip(arrays, dtypes, strict=True)]


def _tree_scan(self: Any, input: tuple[Any, ...]) -> list[Any]:
    dtypes = [arg.dtype for arg in input]
    arrays = [arg.handle.data for arg in input]
    length = arrays[0].shape[self.axis]
    place = np.arange(length).reshape([length if axis == self.axis else 1 for axis in range(arrays[0].ndim)])
    distance = 1
    while distance < length:
        earlier = [np.roll(array, distance, axis=self.axis) for array in arrays]
        combined = _combine(self, earlier, arrays, dtypes)
        arrays = [np.where(place >= distance, new, old) for new, old in zip(combined, arrays, strict=True)]
        distance *= 2
    return [self.to_tensor(array, dtype) for array, dtype in zip(arrays, dtypes, strict=True)]


def _fused_multiply_add(self: Any, x: Any, y: Any, z: Any) -> Any:
    """x·y + z, rounded once. A product of two float32 is exact in float64, and a sum that is made odd where it is not
    exact rounds to float32 as the exact one would."""
    if z.data.dtype == np.float64:
        wide = x.data.astype(np.longdouble) * y.data + z.data
        return interpreter.TensorHandle(wide.astype(np.float64), z.dtype.scalar)
    product, addend = x.data.astype(np.float64) * y.data.astype(np.float64), z.data.astype(np.float64)
    total = np.asarray(product + addend)
    virtual = total - product
    lost = (product - (total - virtual)) + (addend - virtual)
    even = total.view(np.int64) % 2 == 0
    odd = np.where(even & np.isfinite(lost) & (lost != 0), np.nextafter(total, np.copysign(np.inf, lost)), total)
    return interpreter.TensorHandle(odd.astype(z.data.dtype), z.dtype.scalar)


def loop_indices(first: Any, second: Any = None, step: Any = 1, **hints: Any) -> Iterator[Any]:
    """What a loop over `range` or `tl.range` binds in a kernel: scalar tensors. Hints on pipelining change nothing."""
    semantic = interpreter.interpreter_semantic
    bounds = (0, first, step) if second is None else (first, second, step)
    tensors: list[Any] = [semantic.to_tensor(bound) for bound in bounds]
    low, high, by = (int(tensor.handle.data.item()) for tensor in tensors)
    promoted = semantic.integer_promote_impl(tensors[0].dtype, tensors[1].dtype)
    kind = semantic.integer_promote_impl(promoted, tensors[2].dtype)
    dtype = interpreter._get_np_dtype(kind)
    for index in range(low, high, by):
        yield tl.tensor(interpreter.TensorHandle(np.array([index], dtype=dtype), kind), kind)


class _Transformer(interpreter.ASTTransformer):
    """Triton's own, and loops over Python's `range` go over `loop_indices`."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        call = node.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range":
            call.func.id = _LOOP
        return node


_LOOP = "_tilewright_loop_indices"


def _refuse_conversion(dtype: Any) -> None:
    name = dtype.scalar.name
    if name == "bf16" or name in _FLOAT8:
        raise Unsupported(f"conversion to {name} at {here()}: the interpreter does not round it to nearest")


def _patch_language_once(patch: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Triton patches its language module again at every call of a device function, `tl.sum` too: half the time."""

    def patched(fn: Any) -> Any:
        modules = frozenset(id(value) for value in fn.__globals__.values() if value is tl or value is tl.core)
        if modules not in _Current.patches:
            _Current.patches[modules] = patch(fn)
        return interpreter._LangPatchScope()

    return patched


def install() -> None:
    """Patch the interpreter, for the life of the process. A second call does nothing."""
    if interpreter.ReduceOps.generic_reduce is _tree_reduce:
        return
    builder: Any = interpreter.InterpreterBuilder
    load, store, cast = builder.create_masked_load, builder.create_masked_store, builder.cast_impl
    cas, rmw, convert = builder.create_atomic_cas, builder.create_atomic_rmw, builder.create_fp_to_fp
    launch, patch_core = interpreter.GridExecutor.__call__, interpreter._patch_lang_core

    def checked_load(self: Any, ptrs: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        _check("read", ptrs, mask)
        return load(self, ptrs, mask, *rest, **named)

    def checked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        _check("write", ptrs, mask)
        return store(self, ptrs, value, mask, *rest)

    def checked_cas(self: Any, ptr: Any, *rest: Any) -> Any:
        _check("write", ptr)
        return cas(self, ptr, *rest)

    def checked_rmw(self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
        _check("write", ptr, mask)
        return rmw(self, op, ptr, val, mask, *rest)

    def rounding_cast(self: Any, src: Any, dst_type: Any) -> Any:
        _refuse_conversion(dst_type)
        return cast(self, src, dst_type)

    def rounding_convert(self: Any, src: Any, dst_type: Any, mode: Any) -> Any:
        _refuse_conversion(dst_type)
        return convert(self, src, dst_type, mode)

    def logged_launch(self: Any, *args: Any, **kwargs: Any) -> Any:
        log = _Current.log
        if log is None:
            return launch(self, *args, **kwargs)
        _Current.kernel = self.fn.__name__
        log.launches.append(_Current.kernel)
        try:
            with log.own_code():
                return launch(self, *args, **kwargs)
        finally:
            while _Current.patches:
                _Current.patches.popitem()[1].restore()

    def patched_core(language: Any, scope: Any) -> None:
        patch_core(language, scope)
        scope.set_attr(language, "range", loop_indices)

    replacements: dict[str, Callable[..., Any]] = {
        "create_masked_load": checked_load,
        "create_masked_store": checked_store,
        "create_atomic_cas": checked_cas,
        "create_atomic_rmw": checked_rmw,
        "cast_impl": rounding_cast,
        "create_fp_to_fp": rounding_convert,
        "create_fma": _fused_multiply_add,
        "get_bf16_ty": _no_bfloat16,
    }
    for name, replacement in replacements.items():
        setattr(builder, name, replacement)
    interpreter.GridExecutor.__call__ = logged_launch
    libdevice_on_cpu.install(_no_library)
    interpreter._patch_lang_core = patched_core
    interpreter.FunctionRewriter.ast_transformer = _Transformer()
    setattr(interpreter, _LOOP, loop_indices)  # the interpreter copies its globals into a kernel's
    interpreter._patch_lang = _patch_language_once(interpreter._patch_lang)
    interpreter.ReduceOps.generic_reduce = _tree_reduce
    interpreter.ScanOps.generic_scan = _tree_scan


def _no_library(name: str) -> NoReturn:
    raise Unsupported(f"{name} at {here()}")


def _no_bfloat16(self: Any) -> NoReturn:
    raise Unsupported(f"bfloat16 at {here()}: the interpreter computes it on bit patterns")
