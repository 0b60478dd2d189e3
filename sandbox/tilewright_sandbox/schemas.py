"""JSON Schemas of what others read and write: `spec.toml` as a user writes it, plans and verdicts.

    python -m tilewright_sandbox.schemas docs/schema

They are for editors and for readers in other languages. What a spec means (an axis that no shape names, an extent
outside its domain) is `spec.load_spec`'s to check, with lines and mends that a schema cannot give.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from .contract import SCHEMA_VERSION, Accept, Dtype, Plan, Verdict

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Extent = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AxisRange(_Table):
    """Every extent from min to max, or every multiple."""

    min: Extent
    max: Extent
    multiple_of: Extent = 1


class AxisChoices(_Table):
    """A few extents."""

    choices: Annotated[list[Extent], Field(min_length=1)]


class TensorTable(_Table):
    """A tensor that the reference takes."""

    shape: list[Name | Extent]
    dtype: Dtype
    fill: Literal["normal", "uniform", "index"] = "normal"
    below: Name | Extent | None = Field(default=None, description='fill = "index" gives integers in [0, below).')
    low: float | None = Field(default=None, description="Least value that the input may hold.")
    high: float | None = Field(default=None, description="Greatest value that the input may hold.")
    static: bool = Field(default=False, description="A weight: a candidate may pack it ahead of time.")


class ScalarTable(_Table):
    """A scalar that the reference takes."""

    value: bool | int | float | str


class OutputTable(_Table):
    """A tensor that the reference returns; shape = [] is zero-dimensional."""

    shape: list[Name | Extent]
    dtype: Dtype


class WorkloadTable(_Table):
    """One binding of the axes; constant axes may be left out."""

    role: Literal["tune", "bench"]
    axes: dict[Name, Extent]
    weight: Annotated[float, Field(gt=0)] = 1.0


class SpecDocument(_Table):
    """What to compute, on which shapes, how close and how fast."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True)

    schema_: Literal[1] = Field(alias="schema", description="Version of this format.")
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", description="That of the folder.")]
    summary: str
    op: str | None = Field(default=None, description="Name of the operator; the spec's name where left out.")
    axes: Annotated[dict[Name, Extent | AxisRange | AxisChoices], Field(min_length=1)]
    inputs: Annotated[dict[Name, TensorTable | ScalarTable], Field(min_length=1)]
    outputs: Annotated[dict[Name, OutputTable], Field(min_length=1)]
    accept: Accept = Accept()
    workloads: Annotated[list[WorkloadTable], Field(min_length=2)]


DOCUMENTS: dict[str, TypeAdapter[Any]] = {
    "spec": TypeAdapter(SpecDocument),
    "plan": TypeAdapter(Plan),
    "verdict": TypeAdapter(Verdict),
}


def schema_texts() -> dict[str, str]:
    """The text of every schema by file name, such as `spec.v1.json`."""
    texts = {}
    for name, adapter in DOCUMENTS.items():
        mode: Literal["validation", "serialization"] = "validation" if name == "spec" else "serialization"
        head = {"$schema": DIALECT, "$id": f"{name}.v{SCHEMA_VERSION}.json"}
        schema = head | adapter.json_schema(mode=mode)
        texts[f"{name}.v{SCHEMA_VERSION}.json"] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    return texts


def main(folder: str = "docs/schema") -> int:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in schema_texts().items():
        (Path(folder) / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
