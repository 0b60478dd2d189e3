"""The device library's functions for the interpreter, which has none: float64 inside, rounded once to the operand's
dtype. A device has an error of a few ulp in most of them, and more in the `fast_` ones; that does not show here.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

MODULES = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")
_NUMPY = ["tanh", "sinh", "cosh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos"]
_NUMPY += ["tan", "floor", "ceil", "trunc", "rint", "hypot", "copysign", "fmod"]
_FLOAT: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _NUMPY},
    **{name: np.vectorize(getattr(math, name), otypes=[np.float64]) for name in ("erf", "erfc", "lgamma")},
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "pow": np.power,
    "abs": np.abs,
    "nearbyint": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp10": lambda x: np.power(10.0, x),
    "fma": lambda x, y, z: x * y + z,
    "div_rn": np.divide,
    "mul_rn": np.multiply,
    "add_rn": np.add,
    "sub_rn": np.subtract,
    "sqrt_rn": np.sqrt,
    "fast_expf": np.exp,
    "fast_logf": np.log,
    "fast_tanhf": np.tanh,
    "fast_sinf": np.sin,
    "fast_cosf": np.cos,
    "fast_dividef": np.divide,
    "fast_powf": np.power,
}
_TRUTH: dict[str, Callable[..., Any]] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "finitef": np.isfinite,
    "signbit": np.signbit,
}


def _elementwise(compute: Callable[..., Any], truth: bool) -> Callable[..., Any]:
    def call(*args: Any, _semantic: Any = None) -> Any:
        operands: list[Any] = [interpreter.interpreter_semantic.to_tensor(arg) for arg in args]
        widest: Any = max(operands, key=lambda operand: operand.handle.data.size)
        exact = all(operand.dtype.is_int() for operand in operands)
        arrays = [operand.handle.data.astype(np.int64 if exact else np.float64) for operand in operands]
        scalar = tl.int32 if truth else widest.dtype
        data = np.asarray(compute(*arrays)).astype(interpreter._get_np_dtype(scalar))
        kind = tl.block_type(scalar, list(widest.shape)) if widest.type.is_block() else scalar
        return tl.core.tensor(interpreter.TensorHandle(data, scalar), kind)

    return call


def install(refuse: Callable[[str], Any]) -> None:
    """Give both spellings of the library a CPU body. A function that has none calls `refuse` with its name."""
    for path in MODULES:
        module: ModuleType = importlib.import_module(path)
        for name, function in list(vars(module).items()):
            if name.startswith("_") or not callable(function) or getattr(function, "__module__", "") != path:
                continue
            if name in _FLOAT or name in _TRUTH:
                body = _elementwise(_FLOAT.get(name) or _TRUTH[name], name in _TRUTH)
            else:
                body = _refusing(name, refuse)
            setattr(module, name, body)


def _refusing(name: str, refuse: Callable[[str], Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return refuse(f"libdevice.{name}")

    return call
