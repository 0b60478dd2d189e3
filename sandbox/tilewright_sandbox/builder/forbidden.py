"""The tables of `policy`: what a candidate may import, and the library names that it may not use, with the mend."""

from __future__ import annotations

ALLOWED_MODULES = frozenset(
    {
        "torch", "triton", "math", "cmath", "typing", "typing_extensions", "types", "__future__", "dataclasses",
        "functools", "enum", "collections", "itertools", "operator", "numbers", "abc", "contextlib", "warnings",
        "copy", "string", "re", "fractions",
    }
)  # fmt: skip
STANDARD_MODULES = ALLOWED_MODULES - {"torch", "triton", "__future__"}
MACHINE_MODULES = frozenset(
    {
        "os", "sys", "subprocess", "threading", "_thread", "ctypes", "builtins", "socket", "importlib", "inspect", "gc",
        "pickle", "marshal", "tempfile", "shutil", "linecache", "pkgutil", "signal",
    }
)  # fmt: skip
"""Not to be reached through a module that imports them either: `enum.sys`, `torch.os`."""
WHY_NOT = {
    "numpy": "tensors are fake while a launcher is captured, so values cannot go through NumPy",
    "os": "a launcher may not depend on the machine's environment or files",
    "threading": "a launcher runs in one thread",
    "multiprocessing": "a launcher runs in one process",
    "subprocess": "a launcher starts no programs",
    "ctypes": "a launcher calls no foreign code",
}
_RULES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "autotune_not_allowed",
        "the tuner owns configs: put the choices in SPACE and take them as keywords of run",
        ("triton.autotune", "triton.runtime.autotuner", "triton.runtime.Autotuner", "triton.runtime.autotune"),
    ),
    ("timing_not_allowed", "the judge times; a launcher only launches", ("triton.testing", "torch.cuda.Event")),
    (
        "compiler_not_allowed",
        "launch the kernel with kernel[grid](...); the builder compiles it",
        ("triton.compile", "triton.compiler", "triton.backends"),
    ),
    (
        "torch_compile_not_allowed",
        "write the kernel; a candidate is not a compiler's wrapper",
        (
            "torch.compile", "torch.compiler", "torch.jit", "torch.fx", "torch.export", "torch._dynamo",
            "torch._inductor",
        ),
    ),
    (
        "custom_op_not_allowed",
        "call the kernel from run directly; a candidate is Python and Triton only",
        ("torch.library", "torch.utils.cpp_extension", "torch.ops.load_library", "torch.classes"),
    ),
    (
        "torch_internal_not_allowed",
        "use torch's public interface",
        (
            "torch._C", "torch._subclasses", "torch.overrides", "torch.utils._python_dispatch",
            "torch.utils._pytree",
        ),
    ),
    (
        "stream_not_allowed",
        "launch on the current stream",
        (
            "torch.cuda.Stream", "torch.cuda.ExternalStream", "torch.cuda.stream", "torch.cuda.set_stream",
            "torch.cuda.streams", "torch.Stream",
        ),
    ),
    (
        "cuda_graph_not_allowed",
        "launch eagerly; the judge makes the graph",
        ("torch.cuda.CUDAGraph", "torch.cuda.graph", "torch.cuda.graphs", "torch.cuda.make_graphed_callables"),
    ),
    (
        "process_not_allowed",
        "a launcher runs in one process, on one GPU",
        ("torch.multiprocessing", "torch.distributed"),
    ),
    (
        "global_state_not_allowed",
        "precision and options belong to the call: input_precision in tl.dot, num_warps at the launch, device=x.device",
        (
            "torch.backends", "torch.set_float32_matmul_precision", "torch.set_default_device",
            "torch.set_default_dtype", "torch.use_deterministic_algorithms", "triton.knobs",
        ),
    ),
    (
        "file_not_allowed",
        "a candidate is one self-contained file",
        ("torch.load", "torch.save", "torch.serialization", "torch.from_file", "torch.hub", "torch.package"),
    ),
    (
        "introspection_not_allowed",
        "call functions by name, and write types as types",
        (
            "typing.get_type_hints", "typing.ForwardRef", "typing_extensions.get_type_hints",
            "typing_extensions.evaluate_forward_ref", "typing_extensions.get_annotations", "functools.singledispatch",
            "functools.singledispatchmethod", "types.FunctionType", "types.LambdaType", "types.CodeType",
            "types.FrameType", "types.TracebackType", "types.CellType", "types.ModuleType", "types.resolve_bases",
            "string.Formatter", "dataclasses.make_dataclass", "torch.utils.benchmark",
            "torch.ops.import_module", "triton.runtime.build", "triton.runtime.cache", "triton.runtime.interpreter",
        ),
    ),
    (
        "host_data_not_allowed",
        "allocate on the device: torch.empty(..., device=x.device)",
        ("torch.from_numpy", "torch.utils.dlpack", "torch.frombuffer"),
    ),
)  # fmt: skip
FORBIDDEN: dict[str, tuple[str, str]] = {name: (code, mend) for code, mend, names in _RULES for name in names}
"""Library name → code of the rejection and how to mend it; a name forbids everything under it."""
OWNERS = frozenset(name.rpartition(".")[0] for name in FORBIDDEN)
"""Modules that hold a forbidden name: not to be passed on as values, since what is read from a value is not known."""

BUILTINS = frozenset(
    {
        "exec", "eval", "compile", "open", "input", "breakpoint", "__import__", "globals", "locals", "vars",
        "__builtins__",
    }
)  # fmt: skip
HOOKS = frozenset({"__torch_dispatch__", "__torch_function__"})
INTROSPECTION = HOOKS | frozenset(
    {
        "__globals__", "__code__", "__closure__", "__subclasses__", "__builtins__", "__bases__", "__base__", "__mro__",
        "mro", "__getattribute__", "__getattr__", "__dict__", "__getstate__", "__loader__", "__spec__", "__reduce__",
        "__reduce_ex__", "__self__", "__func__", "__import__", "__objclass__", "__match_args__", "__traceback__",
        "cell_contents", "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "tb_frame", "tb_next", "gi_frame",
        "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code", "_getframe", "_convert_", "get_field",
        "attrgetter", "methodcaller", "get_type_hints",
    }
)  # fmt: skip
"""Names of attributes that lead from an object to the code, the frames or the modules about it."""
HIDDEN_NAMES = INTROSPECTION | MACHINE_MODULES
"""Attributes that are refused whatever they are read from: of an owner that cannot be known, too."""
BY_STRING = frozenset({"getattr", "setattr", "delattr", "operator.attrgetter", "operator.methodcaller"})
"""Callables that take an attribute's name as a string: called at once, with the name written out, never passed on."""
