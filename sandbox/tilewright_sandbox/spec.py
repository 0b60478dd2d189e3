"""A spec folder on disk: `spec.toml` and `reference.py`, read and checked without executing either."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass
from pathlib import Path

from .contract import Spec
from .spec_error import Lines, SpecError
from .spec_reference import check_reference
from .spec_toml import fit_name, parse_spec_toml

__all__ = ["SpecError", "SpecFolder", "find_spec", "list_specs", "load_spec", "scaffold_spec"]


@dataclass(frozen=True)
class SpecFolder:
    """A loaded folder: the record, and what stands beside it."""

    path: Path
    spec: Spec
    reference_source: str
    notes: str = ""
    """`notes.md`, if there is one: the author's words to whoever proposes a kernel."""

    @property
    def reference_path(self) -> Path:
        return self.path / "reference.py"

    @property
    def solutions(self) -> dict[str, tuple[Path, ...]]:
        """Shipped solutions by kind, `right` and `wrong`."""
        return {kind: tuple(sorted((self.path / "solutions" / kind).glob("*.py"))) for kind in ("right", "wrong")}


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SpecError(f"{path.name} is missing", path, None, "`tilewright spec new NAME` writes both files") from None
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", path, None, "check the path and its permissions") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SpecError("not UTF-8", path, line, "save the file as UTF-8") from None


def load_spec(path: Path | str) -> SpecFolder:
    """Load a spec folder. SpecError names file, line and mend; nothing of the folder is executed."""
    folder = Path(path)
    if not folder.is_dir():
        raise SpecError("there is no such folder", folder, None, "give the folder that holds spec.toml")
    text = _read(folder / "spec.toml")
    reference = _read(folder / "reference.py")
    spec = parse_spec_toml(text, folder / "spec.toml", hashlib.sha256(reference.encode()).hexdigest())
    if spec.name != folder.resolve().name:
        raise SpecError(f'name is "{spec.name}", the folder is "{folder.resolve().name}"', folder / "spec.toml",
                        Lines.read(text).at("name"), "give both the same name")  # fmt: skip
    check_reference(reference, spec, folder / "reference.py")
    notes = folder / "notes.md"
    return SpecFolder(folder, spec, reference, _read(notes) if notes.is_file() else "")


def find_spec(name_or_path: str | Path, root: Path | None = None) -> Path:
    """The folder of a spec given by path, or by its name under `specs/`. SpecError lists near names."""
    path = Path(name_or_path)
    if path.name == "spec.toml":
        path = path.parent
    specs = (root or Path.cwd()) / "specs"
    by_name = specs / path
    if len(path.parts) == 1 and by_name.is_dir() and not (path / "spec.toml").is_file():
        return by_name
    if path.is_dir():
        return path
    names = [folder.name for folder in list_specs(specs)]
    close = difflib.get_close_matches(path.name, names, 3, 0.5)
    mend = (
        f"did you mean {', '.join(close)}?" if close else "give a folder, or a name that `tilewright spec list` shows"
    )
    raise SpecError("there is no such spec", path, None, mend)


def list_specs(root: Path) -> tuple[Path, ...]:
    """Folders under `root` that hold a spec.toml, by name."""
    return tuple(sorted(file.parent for file in root.glob("*/spec.toml")))


def scaffold_spec(name: str, into: Path) -> Path:
    """Write a complete, commented, valid spec to `into/name`. SpecError if the name is unfit or the folder exists."""
    folder = into / name
    if not fit_name(name):
        raise SpecError(
            f'"{name}" is no name for a spec', folder, None, "lower-case letters, digits and _, such as my_op"
        )
    if folder.exists():
        raise SpecError("the folder exists already", folder, None, "choose another name, or remove it")
    reference = _REFERENCE
    toml = _SPEC.replace("NAME", name)
    parse_spec_toml(toml, folder / "spec.toml", hashlib.sha256(reference.encode()).hexdigest())
    (folder / "solutions" / "right").mkdir(parents=True)
    (folder / "solutions" / "wrong").mkdir()
    (folder / "spec.toml").write_text(toml)
    (folder / "reference.py").write_text(reference)
    return folder


_SPEC = """\
schema  = 1
name    = "NAME"
summary = "y = x * sigmoid(x) * scale, computed in fp32"
op      = "NAME"

# An axis is an integer (constant), { min, max } or { choices = [...] }. Hidden shapes are drawn from these domains:
# declare what must work, not only what you will time.
[axes]
rows = { min = 1, max = 65536 }
cols = { min = 1, max = 16384 }

# In the order of the signature. fill: "normal", "uniform" (with low, high) or "index" (integers, with below).
[inputs]
x     = { shape = ["rows", "cols"], dtype = "bfloat16", fill = "normal" }
scale = { shape = ["cols"], dtype = "bfloat16", fill = "normal", static = true }

[outputs]
y = { shape = ["rows", "cols"], dtype = "bfloat16" }

[accept]
min_speedup = 1.05                                  # lower end of the 95 % interval, against the strongest baseline
baselines   = ["eager", "compile", "max-autotune"]
precision   = "ieee"                                # or "tf32", for reference, baselines and candidate alike

[[workloads]]                                       # tune: what configs are searched on
role = "tune"
axes = { rows = 4096, cols = 4096 }

[[workloads]]                                       # bench: what is reported
role = "bench"
axes = { rows = 16384, cols = 4096 }
"""

_REFERENCE = """\
from __future__ import annotations

import torch
from torch import Tensor


def reference(x: Tensor, scale: Tensor) -> Tensor:
    h = x.float()
    return (h * torch.sigmoid(h) * scale.float()).to(x.dtype)
"""
