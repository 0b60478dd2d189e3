"""Static policy: each rule names code, line and mend, and honest source passes. Needs neither torch nor triton."""

from __future__ import annotations

import pytest

from tilewright_sandbox.builder.forbidden import FORBIDDEN
from tilewright_sandbox.builder.policy import check_source, classify_aten, op_name

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_every_forbidden_name_is_found_however_it_is_reached(name: str) -> None:
    code, mend = FORBIDDEN[name]
    owner, _, leaf = name.rpartition(".")
    spellings = [
        f"{HEAD}import {name.split('.')[0]}\nx = {name}\n",
        f"import {name.split('.')[0]} as z\nx = z.{name.partition('.')[2]}\n",
        f"from {owner} import {leaf} as harmless\n",
        f"{HEAD}import {owner}\ndef run(x):\n    return getattr({owner}, {leaf!r})\n",
        f"import {owner} as lib\nalias = lib\nx = alias.{leaf}\n",
    ]
    for source in spellings:
        found = check_source(source)
        assert found is not None, source
        assert found.stage == "policy"
        assert found.code == code, found
        assert mend in found.message
        assert f"candidate.py:{found.evidence['line']}: " in found.message


@pytest.mark.parametrize(
    ("source", "code", "line"),
    [
        ("import os\n", "import_not_allowed", 1),
        ("x = 1\nimport os.path as p\n", "import_not_allowed", 2),
        ("from subprocess import run\n", "import_not_allowed", 1),
        ("def run(x):\n    import numpy\n", "import_not_allowed", 2),
        ("from . import reference\n", "import_not_allowed", 1),
        ("from tilewright_sandbox import contract\n", "import_not_allowed", 1),
        (HEAD + "torch.os.environ\n", "import_not_allowed", 4),
        ("from enum import sys\n", "import_not_allowed", 1),
        ("f = eval\n", "builtin_not_allowed", 1),
        ("def run(x):\n    return open('/etc/passwd')\n", "builtin_not_allowed", 2),
        ("__import__('os')\n", "builtin_not_allowed", 1),
        ("def run(exec):\n    return exec('1')\n", "builtin_not_allowed", 2),
        ("def run(x):\n    return x.__class__.__subclasses__()\n", "introspection_not_allowed", 2),
        ("def run(x):\n    return run.__code__\n", "introspection_not_allowed", 2),
        ("getattr(run, '__globals__')\n", "introspection_not_allowed", 1),
        (HEAD + "getattr(torch.ops, name)\n", "obfuscated_attribute", 4),
        (HEAD + "torch.empty = None\n", "patch_not_allowed", 4),
        (HEAD + "del tl.sum\n", "patch_not_allowed", 4),
        (HEAD + "setattr(triton, 'jit', None)\n", "patch_not_allowed", 4),
        ("class T:\n    def __torch_function__(self): ...\n", "tensor_hook_not_allowed", 2),
        (HEAD + "@triton.autotune(configs=[], key=[])\ndef k(): ...\n", "autotune_not_allowed", 4),
    ],
)
def test_a_broken_rule_names_its_line(source: str, code: str, line: int) -> None:
    found = check_source(source)
    assert found is not None
    assert (found.stage, found.code, found.evidence["line"]) == ("policy", code, line), found.message


@pytest.mark.parametrize(
    "reads",
    [
        "operator.attrgetter('NAME')(y)",
        "operator.attrgetter('shape', 'a.NAME.b')",
        "operator.methodcaller('NAME', 1)(y)",
        "(get := operator.attrgetter('NAME'))",
        "getattr(y, 'NAME', None)",
        "getattr(y.a[0], 'NAME')",
        "setattr(y, 'NAME', 1)",
        "'{0.NAME}'.format(y)",
        "'{0:>{1.NAME}}'.format(y, y)",
        "'{y.a[0].NAME}'.format_map({'y': y})",
        "f'{y.NAME!r:>{y.NAME}}'",
        "y.a.NAME()",
        "type(y).NAME",
    ],
)
@pytest.mark.parametrize("name", ["tb_frame", "__globals__", "__self__", "__getattribute__", "sys", "os", "__dict__"])
def test_a_hidden_attribute_is_found_however_it_is_read(reads: str, name: str) -> None:
    source = f"import operator\ndef run(y):\n    return {reads.replace('NAME', name)}\n"
    found = check_source(source)
    assert found is not None, source
    assert found.code in ("introspection_not_allowed", "import_not_allowed"), found
    assert name in found.message


@pytest.mark.parametrize(
    "pattern", ["object(NAME=z)", "{'a': [object(b=int(), NAME=z)]}", "object(NAME=1) | None", "a.B(c=object(NAME=z))"]
)
@pytest.mark.parametrize("name", ["tb_frame", "f_back", "sys", "__dict__"])
def test_a_class_pattern_reads_attributes(pattern: str, name: str) -> None:
    found = check_source(
        f"def run(y):\n    match y:\n        case {pattern.replace('NAME', name)}:\n            pass\n"
    )
    assert found is not None
    assert found.code in ("introspection_not_allowed", "import_not_allowed"), found


@pytest.mark.parametrize(
    "source",
    [
        "import operator\ndef run(y, n):\n    return operator.attrgetter(n)(y)\n",
        "import operator\nget = operator.attrgetter\nget(run.name)(run)\n",
        "import torch\nx = torch\ndef run(x): return x._C\n",
        "import operator\nget = operator.attrgetter('sys' + '.modules')\n",
        "import operator\nget = operator.attrgetter(*['a', 'b'])\n",
        "from operator import methodcaller as m\ncall = m(f'{1}')\n",
        "from operator import attrgetter as get\nlist(map(get, ['a']))\n",
        "import functools\nfound = functools.reduce(getattr, ['a', 'b'], run)\n",
        "import functools\nlook = functools.partial(getattr, run)\n",
        "look = getattr\n",
        "def run(y, n):\n    return getattr(y, n, None)\n",
        "def run(y, n):\n    return getattr(getattr(y, 'a'), *n)\n",
        "import functools, torch\n@functools.wraps(torch, assigned=('a',))\ndef f(): ...\n",
        "import functools, torch\nfunctools.update_wrapper(torch, run, ('empty',), ())\n",
        "class Look:\n    __match_args__ = ('a',)\n",
        "def run(y):\n    match y:\n        case Look(z):\n            return z\n",
        "import enum\nenum.IntEnum._convert_('E', 'candidate', len)\n",
        "from string import Formatter as F\nF().get_field('0.a', (run,), {})\n",
        "import typing\ntyping.get_type_hints(run)\n",
        "import collections\ncollections._sys.modules\n",
        "modules = print.__self__.__import__('sys').modules\n",
        "import contextlib\ncontextlib.__getstate__()\n",
        "def run(y):\n    return vars(y)\n",
        "def run(y):\n    return y.__class__.__mro__\n",
        "import types\ntypes.FunctionType(None, {})\n",
        "import importlib.resources\n",
        "import pkgutil\n",
        "import codecs\n",
        "from torch.utils.benchmark import Timer\n",
        "import torch\nsys = (lambda library: library.hub)(torch)\n",
        "import torch as t\nlib, other = t, 1\n",
        "import torch\nlook = [torch.cuda]\n",
        "import operator\nlook = (lambda o: o.attrgetter)(operator)\n",
        "def run(y):\n    return y.attrgetter('a')\n",
        "def run(y):\n    type(y).detach = None\n",
        "def run(y):\n    y.a.__class__.numpy = None\n",
    ],
)
def test_names_that_cannot_be_read_and_other_ways_to_attributes_are_refused(source: str) -> None:
    found = check_source(source)
    assert found is not None, source
    assert found.stage == "policy"


@pytest.mark.parametrize(
    "body",
    [
        "import operator as o\non, call = o.attrgetter('is_cuda', 'device.index'), o.methodcaller('stride', 0)\n",
        "import operator\nfirst = operator.itemgetter('x', 0)\n",
        "import functools\n@functools.wraps(triton.cdiv)\ndef f(): ...\n",
        "def run(y):\n    match y:\n        case int(n) | [n] | {'n': n} if n:\n            return n\n        "
        "case torch.Tensor(shape=(rows, cols), dtype=torch.float16):\n            return rows\n",
        "text = '{0.shape} {1[0]:>{2}}'.format(1, 2, 3), f'{torch.float16!r:>{4}}', '{'.format()\n",
        "new = hasattr(torch, 'a'), getattr(torch.cuda, 'b', None), isinstance(1, torch.Tensor)\n",
        "self = 1\nclass A:\n    def __getattr__(self, name): return setattr(self, 'n', 1), self.n\n",
        "# exec, eval, open, os.system, threads, torch.compile, a stream\n",
        'DOC = "import os; torch._C; @triton.autotune"\n',
        "def run(input, vars, open): return input, vars, open\n",
        "s = torch.cuda.current_stream()\n",
        "p = torch.cuda.get_device_properties(0).multi_processor_count\n",
        "try:\n    sms = 1\nexcept RuntimeError:\n    sms = 2\nfinally:\n    pass\n",
        "@triton.heuristics({'B': lambda a: a['n']})\n@triton.jit\ndef k(n, B: tl.constexpr): ...\n",
        "from triton.tools.tensor_descriptor import TensorDescriptor\n",
        "from triton.language.extra import libdevice\nfrom triton.language.extra.cuda import gdc_wait\n",
        "import math, functools, dataclasses, typing, enum, itertools\nfrom collections import namedtuple\n",
        "dtype = getattr(torch, 'float8_e4m3fn', None)\nhas = hasattr(torch, 'float8_e5m2')\n",
        "getattr(tl, name)\n",
        "class Op(torch.autograd.Function):\n    def __init__(self): self.x = 1\n",
        "triton.set_allocator(lambda size, align, stream: torch.empty(size, device='cuda', dtype=torch.int8))\n",
        "x = torch._check(True)\nwith torch.cuda.device(0), torch.no_grad(): pass\n",
        "graph = stream = compile = 1\ngraph.capture = stream\n",
        "names = type(run).__name__, run.__doc__, __name__\n",
    ],
)
def test_honest_source_passes(body: str) -> None:
    assert check_source(HEAD + body) is None


def test_source_that_is_not_python() -> None:
    found = check_source("def run(x:\n    return x\n")
    assert found is not None
    assert (found.stage, found.code, found.evidence["line"]) == ("source", "syntax_error", 1)
    deep = check_source("x = " + "(" * 5000 + ")" * 5000)
    assert deep is not None
    assert deep.code == "syntax_error"
    assert check_source("x = 1\0") is not None


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("aten.empty.memory_format", "allocate"),
        ("aten.zero_.default", "fill"),
        ("aten.view.dtype", "view"),
        ("aten._to_copy.default", "copy"),
        ("aten.mm.out", "contraction"),
        ("aten._local_scalar_dense.default", "reads_value"),
        ("prim.device.default", "query"),
        ("aten._softmax.default", None),
        ("aten.add.Tensor", None),
        ("aten.index.Tensor", None),
        ("aten.copy.default", None),
        ("prims.empty.default", None),
        ("mylib.mm.default", None),
    ],
)
def test_kinds_of_aten_operators(operator: str, kind: str | None) -> None:
    assert classify_aten(operator) == kind
    assert op_name("aten.mm.out") == "mm"
