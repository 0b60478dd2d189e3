"""Defects of a spec, each as one edit of good.toml or good.py and the one error that it must give.

A row: name, the text replaced, its replacement, the line that the error names, words of its message, words of its mend.
"""

from __future__ import annotations

from typing import NamedTuple


class Defect(NamedTuple):
    name: str
    old: str
    new: str
    line: int
    message: str
    fix: str


X = 'x      = { shape = ["rows", "cols"], dtype = "bfloat16", fill = "normal" }'
INDEX = 'index  = { shape = ["heads"], dtype = "int64", fill = "index", below = "rows" }'
TUNE = 'role = "tune"\naxes = { rows = 64, cols = 64 }'
BENCH = 'role = "bench"\naxes = { rows = 4096, cols = 128 }\nweight = 2'
WORKLOADS = f"[[workloads]]\n{TUNE}\n\n[[workloads]]\n{BENCH}\n"

TOML = (
    Defect("bad_toml", "schema  = 1", "schema  = ", 1, "not valid TOML", "that line"),
    Defect("open_string", 'op      = "my_op"', 'op      = "my_op', 4, "not valid TOML", "that line"),
    Defect("key_twice", 'op      = "my_op"', 'op = "my_op"\nop = "again"', 5, "not valid TOML", "that line"),
    Defect("axis_twice", "heads = 8", "heads = 8\nrows = 7", 10, "not valid TOML", "that line"),
    Defect("no_schema", "schema  = 1\n", "", 1, '"schema" is missing', "schema = 1"),
    Defect("newer_schema", "schema  = 1", "schema  = 2", 1, "schema 2 is not known", "upgrade tilewright"),
    Defect("schema_text", "schema  = 1", 'schema  = "1"', 1, "not known", "schema = 1"),
    Defect("unknown_table", "[accept]", "[acept]", 20, 'unknown key "acept"', 'did you mean "accept"?'),
    Defect("name_missing", 'name    = "my_op"\n', "", 1, '"name" is missing', "add: name"),
    Defect("name_not_folder", '"my_op"\nsummary', '"other"\nsummary', 2, 'the folder is "my_op"', "same name"),
    Defect("name_with_dash", '"my_op"\nsummary', '"my-op"\nsummary', 2, '"my-op"', "such as"),
    Defect("summary_empty", '"y = x * weight + eps"', '" "', 3, '"summary" must be', "write: summary"),
    Defect("no_axes", "[axes]", "[axis]", 6, "axis", 'did you mean "axes"?'),
    Defect("axis_keyword", "heads = 8", "lambda = 8", 9, 'axis "lambda"', "letters, digits"),
    Defect("axis_unused", "heads = 8", "heads = 8\nspare = 3", 10, 'axis "spare" is in no shape', "remove it"),
    Defect("axis_text", "heads = 8", 'heads = "8"', 9, "must be an integer or a table", "choices"),
    Defect("axis_zero", "min = 1,", "min = 0,", 7, "admits 0", "at least 1"),
    Defect("axis_reversed", "max = 4096 }", "max = 0 }", 7, "min 1 above max 0", "swap"),
    Defect("axis_no_max", "{ min = 1, max = 4096 }", "{ min = 1 }", 7, "needs min and max", "max = 8192"),
    Defect("axis_empty", "max = 4096 }", "max = 5, multiple_of = 8 }", 7, "admits no value", "multiple_of"),
    Defect("axis_multiple", "max = 4096 }", "max = 4096, multiple_of = 0 }", 7, "multiple_of of axis", "≥ 1"),
    Defect("axis_unknown_key", "max = 4096 }", "maximum = 4096 }", 7, 'unknown key "maximum"', 'did you mean "max"?'),
    Defect("choices_and_max", "{ choices = [64, 128] }", "{ choices = [64], max = 64 }", 8, "beside other", "choices"),
    Defect("choices_empty", "[64, 128]", "[]", 8, "non-empty list of integers", "choices = [1024"),
    Defect("choices_twice", "[64, 128]", "[64, 64]", 8, "twice", "once"),
    Defect("input_no_dtype", X, 'x = { shape = ["rows", "cols"] }', 12, "has no dtype", "dtype ="),
    Defect("input_dtype", '"bfloat16", fill = "normal"', '"bfloat"', 12, "unknown dtype 'bfloat'", '"bfloat16"?'),
    Defect("input_dtype_list", '"bfloat16", fill = "normal"', "[1]", 12, "unknown dtype", "use one of"),
    Defect("input_axis", '["rows", "cols"], dtype = "bfloat16", fill', '["row", "cols"], dtype = "bfloat16", fill', 12,
           'unknown axis "row"', 'did you mean "rows"?'),
    Defect("input_fill", 'fill = "normal"', 'fill = "norml"', 12, "unknown fill 'norml'", 'did you mean "normal"?'),
    Defect("input_key", 'fill = "normal"', 'fil = "normal"', 12, 'unknown key "fil"', 'did you mean "fill"?'),
    Defect("input_keyword", X, X.replace("x ", "is "), 12, 'input "is"', "letters, digits"),
    Defect("input_extent", '["heads"]', "[-4]", 14, "the extent -4", "integer ≥ 1"),
    Defect("input_shape_text", '["heads"]', '"heads"', 14, "must be a list", 'shape = ["rows"'),
    Defect("index_no_below", ', below = "rows"', "", 14, "go together", "add: below"),
    Defect("index_axis", 'below = "rows"', 'below = "vocab"', 14, 'unknown axis "vocab"', "one of: cols, heads, rows"),
    Defect("index_float", '"int64"', '"float32"', 14, "does not fit dtype float32", "integers take"),
    Defect("int_normal", 'fill = "index", below = "rows"', 'fill = "normal"', 14, "does not fit dtype int64", "index"),
    Defect("low_above_high", "low = 0.0", "low = 2.0", 13, "low 2.0 is not below high 1.0", "swap"),
    Defect("high_infinite", "high = 1.0", "high = inf", 13, "high is inf", "finite"),
    Defect("static_text", "static = true", 'static = "yes"', 13, "static is 'yes'", "true or false"),
    Defect("scalar_list", "value = 1e-6", "value = [1]", 15, "must be a finite number", "value = 1e-6"),
    Defect("scalar_infinite", "value = 1e-6", "value = -inf", 15, "must be a finite number", "value = 1e-6"),
    Defect("scalar_with_dtype", "value = 1e-6", 'value = 1e-6, dtype = "float32"', 15, 'unknown key "dtype"', "value"),
    Defect("output_axis", 'y = { shape = ["rows"', 'y = { shape = ["row"', 18, 'unknown axis "row"', '"rows"?'),
    Defect("output_is_input", "y = {", "x = {", 18, "both an input and an output", "rename"),
    Defect("output_fill", 'dtype = "bfloat16" }\n\n[accept]', 'dtype = "bfloat16", fill = "normal" }\n\n[accept]', 18,
           'unknown key "fill"', "use one of: dtype, shape"),
    Defect("speedup_below_one", "min_speedup = 1.05", "min_speedup = 0.9", 21, "min_speedup is 0.9", "≥ 1"),
    Defect("speedup_text", "min_speedup = 1.05", 'min_speedup = "2"', 21, "min_speedup is '2'", "≥ 1"),
    Defect("baseline", '["eager"]', '["eagre"]', 22, "baselines is 'eagre'", 'did you mean "eager"?'),
    Defect("no_baseline", '["eager"]', "[]", 22, "baselines is empty", "leave baselines out"),
    Defect("precision", "min_speedup = 1.05", 'precision = "tf23"', 21, "precision is 'tf23'", 'did you mean "tf32"?'),
    Defect("grad_unknown", '["x"]', '["xs"]', 23, "grad names no tensor input: 'xs'", "x"),
    Defect("grad_scalar", '["x"]', '["eps"]', 23, "grad names no tensor input: 'eps'", "use one of"),
    Defect("accept_key", "min_speedup", "min_speed_up", 21, '"min_speed_up" in', '"min_speedup"?'),
    Defect("no_workload", WORKLOADS, "", 1, "there is no workload", "add [[workloads]]"),
    Defect("workload_missing_axis", "{ rows = 64, cols = 64 }", "{ rows = 64 }", 27, "does not bind cols", "add cols"),
    Defect("workload_outside", "{ rows = 64, cols = 64 }", "{ rows = 64, cols = 65 }", 27, "outside its domain",
           "one of 64, 128"),
    Defect("workload_axis", "{ rows = 64, cols = 64 }", "{ row = 64, cols = 64 }", 27, 'unknown axis "row"', '"rows"?'),
    Defect("workload_float", "{ rows = 64,", "{ rows = 64.0,", 27, "to 64.0", "1…4096"),
    Defect("workload_twice", BENCH, f"{TUNE.replace('tune', 'bench')}\n\n[[workloads]]\n{TUNE}", 33, "repeats", ""),
    Defect("no_tune", TUNE, TUNE.replace("tune", "bench"), 25, 'has the role "tune"', 'role = "tune"'),
    Defect("no_bench", BENCH, BENCH.replace("bench", "tune"), 25, 'has the role "bench"', 'role = "bench"'),
    Defect("hidden_role", 'role = "bench"', 'role = "hidden"', 30, "role 'hidden'", "drawn by the judge"),
    Defect("weight_zero", "weight = 2", "weight = 0", 32, "the weight 0", "above 0"),
    Defect("absurd_size", "heads = 8", "heads = 999999999999", 27, 'makes "index" 7.3 TiB', "smaller extents"),
)  # fmt: skip

REFERENCE = (
    Defect("syntax", "return torch", "return return torch", 12, "syntax error", "that line"),
    Defect("no_function", "def reference(", "def refrence(", 1, "no function `reference`", "def reference(x, weight"),
    Defect("parameters", "x: Tensor, weight: Tensor", "weight: Tensor, x: Tensor", 11, "in order", "index, eps)"),
    Defect("star", "x: Tensor, weight", "*x: Tensor, weight", 11, "in order", "(x, weight, index, eps)"),
    Defect("statement", "SCALE = math.sqrt(2)", "print(1)", 8, "at module level", "move it"),
    Defect("call", "SCALE = math.sqrt(2)", "SCALE = torch.randn(3)", 8, "torch.randn is called", "move it"),
    Defect("import", "import math", "import os", 3, 'imports "os"', "torch and math"),
    Defect("import_inside", "    return", "    import subprocess\n    return", 12, 'imports "subprocess"', "torch"),
    Defect("decorated", "def reference", "@torch.compile\ndef reference", 11, "is decorated", "plain PyTorch"),
    Defect("unread", " + eps", "", 11, 'never reads its input "eps"', "remove it"),
    Defect("nul", "SCALE", "SCALE\0", 1, "null bytes", "mend"),
)  # fmt: skip
