"""Every defect of a spec gives one error that names file, line and mend; nothing of the folder is executed."""

from __future__ import annotations

import functools
import importlib.util
import operator
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewright_sandbox.contract import Spec
from tilewright_sandbox.spec import SpecError, find_spec, list_specs, load_spec, scaffold_spec
from tilewright_sandbox.spec_toml import parse_spec_toml

FOLDER = Path(__file__).parents[1] / "malformed_specs"
GOOD_TOML = (FOLDER / "good.toml").read_text()
GOOD_REFERENCE = (FOLDER / "good.py").read_text()
SPECS = Path(__file__).parents[2] / "specs"


def _table() -> Any:
    found = importlib.util.spec_from_file_location("malformed_specs_table", FOLDER / "table.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


TABLE = _table()


def write(folder: Path, toml: str | bytes = GOOD_TOML, reference: str | bytes = GOOD_REFERENCE) -> Path:
    folder.mkdir()
    for name, text in (("spec.toml", toml), ("reference.py", reference)):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def refusal(folder: Path) -> SpecError:
    with pytest.raises(SpecError) as caught:
        load_spec(folder)
    return caught.value


def edited(text: str, defect: Any) -> str:
    assert defect.old in text, f"{defect.name} edits nothing"
    return text.replace(defect.old, defect.new, 1)


def check(error: SpecError, file: Path, defect: Any) -> None:
    assert Path(error.file) == file, str(error)
    assert (error.line, defect.message in error.message, defect.fix in error.fix) == (defect.line, True, True), str(
        error
    )
    assert error.fix
    assert re.fullmatch(rf".*{file.name}:{defect.line}: .+ — .+", str(error)), str(error)


def test_the_text_that_is_edited_is_itself_sound(tmp_path: Path) -> None:
    folder = load_spec(write(tmp_path / "my_op"))
    assert [item.name for item in folder.spec.inputs] == ["x", "weight", "index", "eps"]
    assert [workload.axes for workload in folder.spec.with_role("tune")] == [{"rows": 64, "cols": 64, "heads": 8}]
    assert folder.spec.reference_sha256 == load_spec(folder.path).spec.reference_sha256


@pytest.mark.parametrize("defect", TABLE.TOML, ids=lambda d: d.name)
def test_defect_of_the_toml(tmp_path: Path, defect: Any) -> None:
    folder = write(tmp_path / "my_op", edited(GOOD_TOML, defect))
    check(refusal(folder), folder / "spec.toml", defect)


@pytest.mark.parametrize("defect", TABLE.REFERENCE, ids=lambda d: d.name)
def test_defect_of_the_reference(tmp_path: Path, defect: Any) -> None:
    folder = write(tmp_path / "my_op", reference=edited(GOOD_REFERENCE, defect))
    check(refusal(folder), folder / "reference.py", defect)


def test_a_file_that_is_missing_empty_or_not_text(tmp_path: Path) -> None:
    assert "no such folder" in str(refusal(tmp_path / "absent"))
    folder = write(tmp_path / "my_op")
    (folder / "reference.py").unlink()
    assert "reference.py is missing" in str(refusal(folder))
    (folder / "spec.toml").unlink()
    assert "spec.toml is missing" in str(refusal(folder))
    assert refusal(write(tmp_path / "empty", "")).line == 1
    error = refusal(write(tmp_path / "binary", GOOD_TOML.encode().replace(b"weight + eps", b"weight \xff eps")))
    assert (error.message, error.line) == ("not UTF-8", 3)
    assert refusal(write(tmp_path / "latin", reference=b"# \xe9\n")).line == 1


def test_a_byte_order_mark_and_windows_line_ends_are_no_defect(tmp_path: Path) -> None:
    toml, reference = (("\ufeff" + text).replace("\n", "\r\n") for text in (GOOD_TOML, GOOD_REFERENCE))
    assert load_spec(write(tmp_path / "my_op", toml, reference)).spec.name == "my_op"


def test_loading_executes_nothing(tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    source = GOOD_REFERENCE.replace("    return", f"    open({str(trap)!r}, 'w')\n    return")
    load_spec(write(tmp_path / "my_op", reference=source))
    refusal(write(tmp_path / "other", reference=f"open({str(trap)!r}, 'w')\n"))
    assert not trap.exists()


STRANGE: tuple[Any, ...] = (
    "", "x", "\x00", [], [[]], [1], ["rows"], ["rows", "rows"], {}, {"a": 1}, True, -1, 0, 1, 2**80, 1.5, float("nan"),
    float("-inf"), tomllib.loads("d = 1979-05-27")["d"],
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def parsed(document: Any, monkeypatch: pytest.MonkeyPatch) -> Spec | SpecError:
    """What becomes of a document whose text would be too hard to write: the lines are those of good.toml."""
    with monkeypatch.context() as patch:
        patch.setattr(tomllib, "loads", lambda _: document)
        try:
            return parse_spec_toml(GOOD_TOML, Path("spec.toml"), "0" * 64)
        except SpecError as error:
            return error


def test_any_value_in_any_place_is_a_spec_or_a_spec_error(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = accepted = 0
    for path in places(tomllib.loads(GOOD_TOML)):
        for strange in STRANGE:
            document = tomllib.loads(GOOD_TOML)
            functools.reduce(operator.getitem, path[:-1], document)[path[-1]] = strange
            result = parsed(document, monkeypatch)
            if isinstance(result, SpecError):
                assert result.line is not None, (path, strange, str(result))
                assert result.fix, (path, strange, str(result))
                refused += 1
            else:
                assert Spec.model_validate_json(result.model_dump_json()) == result, (path, strange)
                accepted += 1
    assert refused > 10 * accepted > 0, (refused, accepted)


def test_every_key_taken_away_is_a_spec_or_a_spec_error(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = 0
    for path in places(tomllib.loads(GOOD_TOML)):
        document: Any = tomllib.loads(GOOD_TOML)
        del functools.reduce(operator.getitem, path[:-1], document)[path[-1]]
        result = parsed(document, monkeypatch)
        if isinstance(result, SpecError):
            assert result.fix, (path, str(result))
            refused += 1
    assert refused > 20


def test_lines_of_dotted_keys_tables_and_texts(tmp_path: Path) -> None:
    toml = GOOD_TOML.replace('"y = x * weight + eps"', '"""\n[axes]\nrows = 1\n"""')
    toml = toml.replace("[axes]\nrows = { min = 1, max = 4096 }", "[axes.rows]\nmin = 1\nmax = 0\n\n[axes]", 1)
    error = refusal(write(tmp_path / "my_op", toml))
    assert (error.message, error.line) == ('axis "rows" has min 1 above max 0', 9)
    dotted = GOOD_TOML.replace("rows = { min = 1, max = 4096 }", "rows.min = 1\nrows.mx = 4096")
    assert refusal(write(tmp_path / "dotted", dotted)).line == 8


def test_errors_are_shown_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "my_op", "schema = 2")
    monkeypatch.chdir(tmp_path)
    assert str(refusal(tmp_path / "my_op")).startswith("my_op/spec.toml:1: ")


def test_the_shipped_specs_load_and_are_listed() -> None:
    folders = list_specs(SPECS)
    assert len(folders) >= 14
    for folder in folders:
        assert load_spec(folder).spec.name == folder.name


def test_find_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    softmax = scaffold_spec("softmax", tmp_path / "specs")
    (tmp_path / "softmax").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_spec("softmax") == softmax, "a folder of that name that holds no spec is passed over"
    assert find_spec("specs/softmax").resolve() == find_spec("specs/softmax/spec.toml").resolve() == softmax
    with pytest.raises(SpecError, match=r"no such spec — did you mean softmax\?"):
        find_spec("sofmax")


def test_a_scaffold_loads_and_a_second_one_is_refused(tmp_path: Path) -> None:
    folder = scaffold_spec("my_op", tmp_path)
    assert load_spec(folder).spec.name == "my_op"
    with pytest.raises(SpecError, match="exists already"):
        scaffold_spec("my_op", tmp_path)
    for name in ("My_op", "3d", "a-b", "../x", "", "class"):
        with pytest.raises(SpecError):
            scaffold_spec(name, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["my_op"]
