"""The schemas in docs/schema are those of the code, and judge real documents as the code does."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tilewright_sandbox.contract import (
    Buffer,
    Candidate,
    Check,
    Config,
    Contraction,
    Copy,
    Fill,
    Kernel,
    Launch,
    Measured,
    MeasuredTime,
    ModelledTime,
    Plan,
    Pointer,
    Rejected,
    Resources,
    Scalar,
    TensorMap,
    View,
    Workload,
    candidate_id,
)
from tilewright_sandbox.schemas import DOCUMENTS, schema_texts
from tilewright_sandbox.spec import SpecError, load_spec, scaffold_spec
from tilewright_sandbox.spec_toml import FILLS, TABLES, TENSOR_KEYS, parse_spec_toml

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schema"
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip


KEYWORDS = {
    "$ref", "$defs", "$schema", "$id", "type", "properties", "patternProperties", "required", "additionalProperties",
    "enum", "const", "anyOf", "oneOf", "items", "prefixItems", "minItems", "maxItems", "pattern", "minimum",
    "exclusiveMinimum", "minProperties", "title", "description", "default", "discriminator",
}  # fmt: skip


def defects(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """What `value` breaks of `schema`: the keywords of JSON Schema that ours use, and no others."""
    assert not schema.keys() - KEYWORDS, f"{at}: keywords that are not checked: {schema.keys() - KEYWORDS}"
    if "$ref" in schema:
        return defects(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    for keyword, most in (("anyOf", 99), ("oneOf", 1)):
        options = schema.get(keyword, [])
        if options and not 1 <= sum(not defects(value, option, root, at) for option in options) <= most:
            return [f"{at}: {keyword}"]
    if "type" in schema:
        integral = schema["type"] in ("integer", "number") and isinstance(value, bool)
        if integral or not isinstance(value, TYPES[schema["type"]]):
            return [f"{at}: not {schema['type']}"]
    found = []
    if ("enum" in schema and value not in schema["enum"]) or ("const" in schema and value != schema["const"]):
        found.append(f"{at}: {value!r}")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{at}: pattern")
    if isinstance(value, int | float):
        found += [f"{at}: minimum"] if value < schema.get("minimum", value) else []
        found += [f"{at}: exclusiveMinimum"] if value <= schema.get("exclusiveMinimum", value - 1) else []
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{at}: {len(value)} items")
        kinds = schema.get("prefixItems", [schema.get("items", {})] * len(value))
        for number, (item, kind) in enumerate(zip(value, kinds, strict=False)):
            found += defects(item, kind, root, f"{at}[{number}]")
    if isinstance(value, dict):
        properties, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{at}: no {key}" for key in schema.get("required", []) if key not in value]
        found += [f"{at}: empty"] if len(value) < schema.get("minProperties", 0) else []
        for key, inner in value.items():
            patterns = schema.get("patternProperties", {})
            matching = next((kind for pattern, kind in patterns.items() if re.search(pattern, key)), other)
            kind = properties.get(key, matching)
            found += [f"{at}: unknown {key}"] if kind is False else []
            found += defects(inner, kind, root, f"{at}.{key}") if isinstance(kind, dict) else []
    return found


def schema(name: str) -> dict[str, Any]:
    loaded = json.loads((SCHEMAS / f"{name}.v1.json").read_text())
    assert isinstance(loaded, dict)
    return loaded


def refused(name: str, document: Any) -> list[str]:
    return defects(document, schema(name), schema(name))


@pytest.mark.parametrize("name", schema_texts())
def test_the_schemas_are_up_to_date(name: str) -> None:
    text = schema_texts()[name]
    assert (SCHEMAS / name).read_text() == text, "run: python -m tilewright_sandbox.schemas docs/schema"


@pytest.mark.parametrize("folder", sorted((ROOT / "specs").glob("*/spec.toml")), ids=lambda p: p.parent.name)
def test_the_shipped_specs_fit(folder: Path) -> None:
    document = tomllib.loads(folder.read_text())
    assert refused("spec", document) == []
    DOCUMENTS["spec"].validate_python(document)


def test_a_scaffold_fits(tmp_path: Path) -> None:
    path = scaffold_spec("my_op", tmp_path)
    assert load_spec(path).spec.name == "my_op"
    assert refused("spec", tomllib.loads((path / "spec.toml").read_text())) == []


def test_the_schema_knows_the_keys_of_the_loader_and_no_others() -> None:
    spec = schema("spec")
    assert set(spec["properties"]) == set(TABLES)
    tensor = spec["$defs"]["TensorTable"]["properties"]
    assert set(tensor) == set(TENSOR_KEYS)
    assert set(tensor["fill"]["enum"]) == set(FILLS)


STRUCTURAL = {
    "min_speedup": ("min_speedup = 1.05", "min_speedup = 0.5"),
    "dtype": ('"bfloat16", fill = "normal"', '"bfloat", fill = "normal"'),
    "fill": ('fill = "normal"', 'fill = "norml"'),
    "extent": ("heads = 8", "heads = 0"),
    "axis_key": ("max = 4096 }", "maximum = 4096 }"),
    "role": ('role = "bench"', 'role = "hidden"'),
    "weight": ("weight = 2", "weight = 0"),
    "table": ("[accept]", "[acept]"),
    "schema": ("schema  = 1", "schema  = 2"),
    "name": ('"my_op"\nsummary', '"my-op"\nsummary'),
    "scalar": ("value = 1e-6", 'value = 1e-6, dtype = "float32"'),
    "baseline": ('["eager"]', '["eagre"]'),
    "choices": ("[64, 128]", "[]"),
}


@pytest.mark.parametrize("name", STRUCTURAL)
def test_loader_and_schema_refuse_the_same_structure(name: str) -> None:
    good = (ROOT / "tests" / "malformed_specs" / "good.toml").read_text()
    assert refused("spec", tomllib.loads(good)) == []
    old, new = STRUCTURAL[name]
    assert old in good
    bad = good.replace(old, new, 1)
    assert refused("spec", tomllib.loads(bad))
    with pytest.raises(SpecError):
        parse_spec_toml(bad, Path("spec.toml"), "0" * 64)


HASH = "a" * 64
WORKLOAD = Workload(role="tune", axes={"rows": 8, "cols": 16})
CONFIG = Config({"BLOCK": 1024, "num_warps": 4})


def plan() -> Plan:
    """Every kind of step and argument once."""
    view = View(buffer=0, shape=(8, 16), strides=(16, 1), dtype="float32")
    tensor_map = TensorMap(buffer=1, dtype="float32", shape=(8, 16), strides=(16, 1), block_shape=(8, 8), swizzle=1,
                           elem_size=4, elem_type=7)  # fmt: skip
    resources = Resources(registers=32, spill_bytes=0, stack_bytes=0, shared_bytes=0, cubin_bytes=9)
    kernel = Kernel(name="k", cubin_sha256=HASH, ttir_sha256=HASH, num_warps=4, num_stages=1, shared_bytes=0,
                    signature=("*fp32", "i32", "nvTmaDesc"), resources=resources)  # fmt: skip
    arguments = (Pointer(buffer=0), Scalar(type="i32", value=8), Scalar(type="fp32", value=1e-6), tensor_map)
    steps = (
        Fill(target=view, value=0.0),
        Copy(source=view, target=view),
        Launch(kernel=0, kernel_name="k", grid=(8, 1, 1), arguments=arguments),
        Contraction(op="mm", operands=(view, view), target=view, parameters={"alpha": 1}),
    )
    buffers = (Buffer(name="x", role="input", bytes=512), Buffer(name="t0", role="output", bytes=512))
    return Plan(spec_sha256=HASH, candidate_id="0" * 16, config=CONFIG, workload=WORKLOAD, dtypes={"x": "float32"},
                target="sm_90", versions={"triton": "3.6.0"}, compiled=True, buffers=buffers, kernels=(kernel,),
                steps=steps, inputs={"x": view}, outputs={"y": view})  # fmt: skip


def verdicts() -> list[Rejected | Measured]:
    candidate = Candidate(id=candidate_id("pass"), source="pass", space={}, proposer="person")
    budget = Check(name="budget", status="FAIL", reason="c = 900", facts={"worst_c": 900.0, "where": "y[0, 3]"})
    modelled = ModelledTime(
        workload=WORKLOAD, modelled_us=2.0, roofline_us=1.0, bound="memory", occupancy=0.5, min_bytes=9
    )
    measured = MeasuredTime(workload=WORKLOAD, median_us=2.0, p10_us=1.9, p90_us=2.2, samples=50,
                            baselines_us={"eager": 4.0}, ratio=(1.9, 2.0, 2.1), roofline_us=1.0)  # fmt: skip
    common: dict[str, Any] = {"candidate_id": candidate.id, "config": CONFIG, "target": "sm_90",
                              "rung": "within budget", "seed_commitment": HASH, "seed": "00ff",
                              "plans": (HASH,)}  # fmt: skip
    return [
        Rejected(candidate_id=candidate.id, stage="budget", code="beyond_budget", message="wrong — mend it",
                 checks=(budget,)),
        Measured(**common, evidence="interpreter + compiled for sm_90", box="bubblewrap", times=(modelled,),
                 checks=(Check(name="lattice", status="NOT_RUN", reason="not linear"),)),
        Measured(**common, evidence="device: NVIDIA H200", device_uuid="GPU-1", box="docker", times=(measured,),
                 checks=()),
    ]  # fmt: skip


def test_plans_and_verdicts_fit_and_come_back() -> None:
    for name, records in (("plan", [plan()]), ("verdict", verdicts())):
        for record in records:
            document = json.loads(record.model_dump_json())
            assert refused(name, document) == []
            assert DOCUMENTS[name].validate_json(record.model_dump_json()) == record


def test_a_plan_or_verdict_with_a_hole_does_not_fit() -> None:
    for name, record in (("plan", plan()), ("verdict", verdicts()[1])):
        document = json.loads(record.model_dump_json())
        for key in schema(name).get("required", ["candidate_id", "checks", "box"]):
            assert refused(name, {k: v for k, v in document.items() if k != key}), key
        assert refused(name, document | {"extra": 1})
