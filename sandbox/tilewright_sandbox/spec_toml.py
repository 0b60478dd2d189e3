"""`spec.toml` as a user writes it: parsed with tomllib, checked field by field, each defect with line and mend."""

from __future__ import annotations

import json
import keyword
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from .contract import (
    DTYPE_BYTES,
    Accept,
    Axis,
    Dim,
    Input,
    ScalarInput,
    Spec,
    TensorInput,
    TensorOutput,
    Workload,
    resolve_shape,
)
from .spec_error import Lines, SpecError, nearest

TABLES = ("schema", "name", "summary", "op", "axes", "inputs", "outputs", "accept", "workloads")
TENSOR_KEYS = ("shape", "dtype", "fill", "below", "low", "high", "static")
FILLS = ("normal", "uniform", "index")
MAX_TENSOR_BYTES = 1 << 40
MENDS = {
    "min_speedup": "use a number ≥ 1, such as 1.05",
    "deterministic": "write true or false",
    "grad": 'name tensor inputs, such as ["x"]',
}
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Reader:
    """Turns the parsed document into a Spec; every complaint goes through `fail`, which knows the line."""

    def __init__(self, document: dict[str, Any], file: Path, lines: Lines) -> None:
        self.document, self.file, self.lines = document, file, lines

    def fail(self, message: str, *path: str | int, fix: str = "") -> SpecError:
        return SpecError(message, self.file, self.lines.at(*path) or 1, fix)

    def known(self, keys: Iterable[str], allowed: Iterable[str], what: str, *path: str | int) -> None:
        allowed = tuple(allowed)
        for key in keys:
            if key not in allowed:
                raise self.fail(f'unknown key "{key}" in {what}', *path, key, fix=nearest(key, allowed))

    def text(self, key: str, default: str | None = None) -> str:
        value = self.document.get(key, default)
        if value is None:
            raise SpecError(f'"{key}" is missing', self.file, 1, f'add: {key} = "…"')
        if not isinstance(value, str) or not value.strip():
            raise self.fail(f'"{key}" must be a non-empty string', key, fix=f'write: {key} = "…"')
        return value

    def table(self, key: str) -> dict[str, Any]:
        value = self.document.get(key)
        if value is None:
            raise SpecError(f"table [{key}] is missing", self.file, 1, f"add a [{key}] table")
        if not isinstance(value, dict) or not value:
            raise self.fail(f"[{key}] must be a table with at least one entry", key, fix=f"write: [{key}]")
        return value

    def identifier(self, name: str, what: str, *path: str | int) -> None:
        if not IDENTIFIER.fullmatch(name) or keyword.iskeyword(name):
            raise self.fail(f'{what} "{name}" is not a Python name', *path, fix="use letters, digits and _")

    def axes(self) -> dict[str, Axis]:
        axes: dict[str, Axis] = {}
        for name, value in self.table("axes").items():
            here = ("axes", name)
            self.identifier(name, "axis", *here)
            if isinstance(value, int) and not isinstance(value, bool):
                value = {"min": value, "max": value}
            if not isinstance(value, dict):
                form = f"{name} = 4096, or {{ min = 1, max = 8192 }}, or {{ choices = [1024, 4096] }}"
                raise self.fail(f'axis "{name}" must be an integer or a table', *here, fix=form)
            self.known(value, ("min", "max", "choices", "multiple_of"), f'axis "{name}"', *here)
            if "choices" in value:
                choices = value["choices"]
                if len(value) > 1:
                    raise self.fail(f'axis "{name}" has choices beside other keys', *here, fix="keep only choices")
                if not isinstance(choices, list) or not choices or any(type(c) is not int for c in choices):
                    raise self.fail(f'choices of axis "{name}" must be a non-empty list of integers', *here,
                                    fix="write: choices = [1024, 4096]")  # fmt: skip
                if len(set(choices)) != len(choices):
                    raise self.fail(f'choices of axis "{name}" name a value twice', *here, fix="name each once")
                value = {"choices": tuple(sorted(choices)), "min": min(choices), "max": max(choices)}
            elif not {"min", "max"} <= value.keys():
                raise self.fail(f'axis "{name}" needs min and max', *here, fix="write: { min = 1, max = 8192 }")
            if any(type(value[bound]) is not int for bound in ("min", "max")):
                raise self.fail(
                    f'bounds of axis "{name}" must be integers', *here, fix="write: { min = 1, max = 8192 }"
                )
            if value["min"] < 1:
                raise self.fail(f'axis "{name}" admits {value["min"]}', *here, fix="an extent is at least 1")
            if value["min"] > value["max"]:
                raise self.fail(
                    f'axis "{name}" has min {value["min"]} above max {value["max"]}', *here, fix="swap them"
                )
            multiple_of = value.get("multiple_of", 1)
            if type(multiple_of) is not int or multiple_of < 1:
                raise self.fail(f'multiple_of of axis "{name}" is {multiple_of!r}', *here, fix="use an integer ≥ 1")
            axes[name] = Axis.model_validate(value)
            if value["max"] // multiple_of * multiple_of < value["min"]:
                raise self.fail(f'axis "{name}" admits no value: {describe_axis(axes[name])}', *here,
                                fix="widen it, or lower multiple_of")  # fmt: skip
        return axes

    def shape(self, value: object, axes: Mapping[str, Axis], what: str, *path: str | int) -> tuple[Dim, ...]:
        if not isinstance(value, list):
            raise self.fail(f"shape of {what} must be a list", *path, fix='write: shape = ["rows", "cols"]')
        for dim in value:
            if isinstance(dim, str):
                if dim not in axes:
                    raise self.fail(f'shape of {what} names an unknown axis "{dim}"', *path, fix=nearest(dim, axes))
            elif type(dim) is not int or dim < 1:
                raise self.fail(f"shape of {what} has the extent {dim!r}", *path, fix="use an axis or an integer ≥ 1")
        return tuple(value)

    def dtype(self, value: Mapping[str, Any], what: str, *path: str | int) -> Any:
        dtype = value.get("dtype")
        if dtype is None:
            raise self.fail(f"{what} has no dtype", *path, fix='add: dtype = "bfloat16"')
        if not isinstance(dtype, str) or dtype not in DTYPE_BYTES:
            raise self.fail(f"{what} has the unknown dtype {dtype!r}", *path, fix=nearest(str(dtype), DTYPE_BYTES))
        return dtype

    def inputs(self, axes: Mapping[str, Axis]) -> tuple[Input, ...]:
        inputs: list[Input] = []
        for name, value in self.table("inputs").items():
            here = ("inputs", name)
            what = f'input "{name}"'
            self.identifier(name, "input", *here)
            if not isinstance(value, dict):
                form = f'write: {name} = {{ shape = [...], dtype = "..." }} or {name} = {{ value = 1e-6 }}'
                raise self.fail(f"{what} must be a table", *here, fix=form)
            if "value" in value:
                self.known(value, ("value",), f"scalar {what}", *here)
                scalar = value["value"]
                finite = not isinstance(scalar, float) or math.isfinite(scalar)
                if not (isinstance(scalar, bool | int | float | str) and finite):
                    raise self.fail(f"value of {what} must be a finite number, a boolean or a string", *here,
                                    fix=f"write: {name} = {{ value = 1e-6 }}")  # fmt: skip
                inputs.append(ScalarInput(name=name, value=scalar))
                continue
            self.known(value, TENSOR_KEYS, what, *here)
            if "shape" not in value:
                raise self.fail(f"{what} has neither shape nor value", *here, fix='add: shape = ["rows", "cols"]')
            inputs.append(self.tensor(name, value, axes, what, *here))
        if not any(isinstance(i, TensorInput) for i in inputs):
            raise self.fail("no input is a tensor", "inputs", fix="give at least one input a shape and a dtype")
        return tuple(inputs)

    def tensor(
        self, name: str, value: Mapping[str, Any], axes: Mapping[str, Axis], what: str, *here: str | int
    ) -> TensorInput:
        shape = self.shape(value["shape"], axes, what, *here)
        dtype = self.dtype(value, what, *here)
        integral = dtype.startswith(("int", "uint")) or dtype == "bool"
        fill = value.get("fill", "index" if integral and "below" in value else "normal")
        if fill not in FILLS:
            raise self.fail(f"{what} has the unknown fill {fill!r}", *here, fix=nearest(str(fill), FILLS))
        if (fill == "index") != ("below" in value):
            mend = 'add: below = "vocab" (an axis or an integer)' if fill == "index" else 'set fill = "index"'
            raise self.fail(f'{what}: fill "index" and below go together', *here, fix=mend)
        if (fill == "index") != integral:
            raise self.fail(f'{what}: fill "{fill}" does not fit dtype {dtype}', *here,
                            fix='integers take fill = "index", floats "normal" or "uniform"')  # fmt: skip
        below = value.get("below")
        if isinstance(below, str) and below not in axes:
            raise self.fail(f'{what}: below names an unknown axis "{below}"', *here, fix=nearest(below, axes))
        if below is not None and not isinstance(below, str) and (type(below) is not int or below < 1):
            raise self.fail(f"{what}: below is {below!r}", *here, fix="use an axis or an integer ≥ 1")
        for key in ("low", "high"):
            bound = value.get(key, 0.0)
            if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
                raise self.fail(f"{what}: {key} is {bound!r}", *here, fix=f"use a finite number, or leave {key} out")
            if integral and key in value:
                raise self.fail(f"{what}: {key} does not fit dtype {dtype}", *here, fix="integers take below alone")
        low, high = value.get("low"), value.get("high")
        if low is not None and high is not None and not low < high:
            raise self.fail(f"{what}: low {low} is not below high {high}", *here, fix="swap them")
        if not isinstance(value.get("static", False), bool):
            raise self.fail(f"{what}: static is {value['static']!r}", *here, fix="write true or false")
        return TensorInput(name=name, shape=shape, dtype=dtype, fill=fill, index_below=below, low=low, high=high,
                           static=value.get("static", False))  # fmt: skip

    def outputs(self, axes: Mapping[str, Axis]) -> tuple[TensorOutput, ...]:
        outputs = []
        for name, value in self.table("outputs").items():
            here = ("outputs", name)
            what = f'output "{name}"'
            self.identifier(name, "output", *here)
            if not isinstance(value, dict) or "shape" not in value:
                raise self.fail(f"{what} must be a table with shape and dtype", *here,
                                fix=f'write: {name} = {{ shape = ["rows"], dtype = "float32" }}')  # fmt: skip
            self.known(value, ("shape", "dtype"), what, *here)
            shape = self.shape(value["shape"], axes, what, *here)
            outputs.append(TensorOutput(name=name, shape=shape, dtype=self.dtype(value, what, *here)))
        return tuple(outputs)

    def accept(self, inputs: tuple[Input, ...]) -> Accept:
        value = self.document.get("accept", {})
        if not isinstance(value, dict):
            raise self.fail("[accept] must be a table", "accept", fix="write: [accept]")
        self.known(value, Accept.model_fields, "[accept]", "accept")
        tensors = [i.name for i in inputs if isinstance(i, TensorInput)]
        for name in value.get("grad", []) if isinstance(value.get("grad", []), list) else []:
            if name not in tensors:
                raise self.fail(
                    f"grad names no tensor input: {name!r}", "accept", "grad", fix=nearest(str(name), tensors)
                )
        for key in ("baselines", "layouts"):
            if value.get(key) == []:
                raise self.fail(f"accept.{key} is empty", "accept", key, fix=f"name one, or leave {key} out")
        try:
            return Accept.model_validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            defect = error.errors()[0]
            key = str(defect["loc"][0])
            allowed = get_args(Accept.model_fields[key].annotation)
            choices = [word for part in allowed for word in get_args(part) or (part,) if isinstance(word, str)]
            mend = MENDS.get(key) or nearest(str(defect["input"]), choices)
            raise self.fail(f"accept.{key} is {defect['input']!r}", "accept", key, fix=mend) from None

    def workloads(self, axes: Mapping[str, Axis]) -> tuple[Workload, ...]:
        tables = self.document.get("workloads")
        if not isinstance(tables, list) or not tables:
            raise self.fail("there is no workload", "workloads", fix='add [[workloads]] with role = "tune" and axes')
        workloads: list[Workload] = []
        for number, table in enumerate(tables):
            here = ("workloads", number)
            what = f"workload {number + 1}"
            if not isinstance(table, dict):
                raise self.fail(f"{what} must be a table", *here, fix="write: [[workloads]]")
            self.known(table, ("role", "axes", "weight"), what, *here)
            role = table.get("role")
            if role not in ("tune", "bench"):
                mend = (
                    "hidden shapes are drawn by the judge"
                    if role == "hidden"
                    else nearest(str(role), ("tune", "bench"))
                )
                raise self.fail(f"{what} has the role {role!r}", *here, "role", fix=f'use "tune" or "bench"; {mend}')
            weight = table.get("weight", 1)
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
                raise self.fail(f"{what} has the weight {weight!r}", *here, "weight", fix="use a number above 0")
            bound = {name: axis.min for name, axis in axes.items() if axis.min == axis.max}
            given = table.get("axes", {})
            if not isinstance(given, dict):
                raise self.fail(f"axes of {what} must be a table", *here, "axes", fix="write: axes = { rows = 4096 }")
            for axis in given:
                if axis not in axes:
                    raise self.fail(f'{what} binds an unknown axis "{axis}"', *here, "axes", fix=nearest(axis, axes))
            for name, extent in given.items():
                if type(extent) is not int or not axes[name].admits(extent):
                    raise self.fail(f'{what} binds axis "{name}" to {extent!r}, outside its domain', *here, "axes",
                                    fix=f"its domain is {describe_axis(axes[name])}")  # fmt: skip
            bound |= given
            missing = [name for name in axes if name not in bound]
            if missing:
                raise self.fail(f"{what} does not bind {', '.join(missing)}", *here, "axes",
                                fix=f"add {missing[0]} = {axes[missing[0]].min} to its axes")  # fmt: skip
            ordered = {name: bound[name] for name in axes}
            workload = Workload(role=role, axes=ordered, weight=weight)
            if any(other.role == role and other.axes == ordered for other in workloads):
                raise self.fail(f"{what} repeats an earlier one", *here, fix="remove one of the two")
            workloads.append(workload)
        for role in ("tune", "bench"):
            if not any(w.role == role for w in workloads):
                raise self.fail(
                    f'no workload has the role "{role}"', "workloads", 0, fix=f'add one with role = "{role}"'
                )
        return tuple(workloads)

    def sizes(self, spec: Spec) -> None:
        """No tensor of a workload is absurdly large."""
        for number, workload in enumerate(spec.workloads):
            tensors: list[TensorInput | TensorOutput] = [*spec.tensor_inputs, *spec.outputs]
            for tensor in tensors:
                size = DTYPE_BYTES[tensor.dtype] * math.prod(resolve_shape(tensor.shape, workload.axes))
                if size > MAX_TENSOR_BYTES:
                    raise self.fail(f'workload {number + 1} makes "{tensor.name}" {size / 2**40:.1f} TiB', "workloads",
                                    number, "axes", fix="bind its axes to smaller extents")  # fmt: skip

    def spec(self, reference_sha256: str) -> Spec:
        schema = self.document.get("schema")
        if type(schema) is not int or schema != 1:
            newer = type(schema) is int and schema > 1
            mend = "upgrade tilewright" if newer else "write: schema = 1"
            raise self.fail(
                f"schema {schema!r} is not known" if schema is not None else '"schema" is missing', "schema", fix=mend
            )
        self.known(self.document, TABLES, "spec.toml")
        name = self.text("name")
        if not fit_name(name):
            raise self.fail(f'name "{name}" must be lower-case letters, digits and _', "name", fix='such as "my_op"')
        axes = self.axes()
        inputs = self.inputs(axes)
        outputs = self.outputs(axes)
        for output in outputs:
            if output.name in {i.name for i in inputs}:
                raise self.fail(
                    f'"{output.name}" is both an input and an output', "outputs", output.name, fix="rename it"
                )
        used = {dim for part in (*inputs, *outputs) if not isinstance(part, ScalarInput) for dim in part.shape}
        used |= {i.index_below for i in inputs if isinstance(i, TensorInput) and i.index_below is not None}
        for axis in axes:
            if axis not in used:
                raise self.fail(f'axis "{axis}" is in no shape', "axes", axis, fix="use it in a shape, or remove it")
        spec = Spec(name=name, summary=self.text("summary"), op=self.text("op", name), axes=axes, inputs=inputs,
                    outputs=outputs, accept=self.accept(inputs), workloads=self.workloads(axes),
                    reference_sha256=reference_sha256)  # fmt: skip
        self.sizes(spec)
        return spec


def fit_name(name: str) -> bool:
    """Whether a spec may have this name: lower-case letters, digits and _, and no keyword of Python."""
    return bool(re.fullmatch(r"[a-z][a-z0-9_]*", name)) and not keyword.iskeyword(name)


def describe_axis(axis: Axis) -> str:
    if axis.choices is not None:
        return "one of " + ", ".join(map(str, axis.choices))
    multiple = f", multiples of {axis.multiple_of}" if axis.multiple_of > 1 else ""
    return f"{axis.min}…{axis.max}{multiple}"


def parse_spec_toml(text: str, file: Path, reference_sha256: str) -> Spec:
    """The Spec that a TOML text describes. SpecError names file, line and mend."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        line = int(place[1]) if place else len(text.splitlines()) or 1
        raise SpecError(f"not valid TOML: {error}", file, line, "mend the syntax on that line") from None
    if not document:
        raise SpecError("the file is empty", file, 1, "`tilewright spec new NAME` writes a working example")
    return _Reader(document, file, Lines.read(text)).spec(reference_sha256)
