"""The tables of `policy`: what a candidate may import, and the library names that it may not use, with the mend."""

from __future__ import annotations

ALLOWED_MODULES = frozenset(
    {
        "torch", "triton", "math", "cmath", "typing", "typing_extensions", "types", "__future__", "dataclasses",
        "functools", "enum", "collections", "itertools", "operator", "numbers", "abc", "contextlib", "warnings",
        "copy", "string", "re", "fractions",
    }
)  # fmt: skip
MACHINE_MODULES = frozenset(
    {"os", "sys", "subprocess", "threading", "_thread", "ctypes", "builtins", "socket", "importlib", "inspect", "gc"}
)
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
        ("torch.load", "torch.save", "torch.from_file", "torch.hub"),
    ),
    (
        "host_data_not_allowed",
        "allocate on the device: torch.empty(..., device=x.device)",
        ("torch.from_numpy", "torch.utils.dlpack", "torch.frombuffer"),
    ),
)  # fmt: skip
FORBIDDEN: dict[str, tuple[str, str]] = {name: (code, mend) for code, mend, names in _RULES for name in names}
"""Library name → code of the rejection and how to mend it; a name forbids everything under it."""

BUILTINS = frozenset(
    {
        "exec", "eval", "compile", "open", "input", "breakpoint", "__import__", "globals", "locals", "vars",
        "__builtins__",
    }
)  # fmt: skip
HOOKS = frozenset({"__torch_dispatch__", "__torch_function__"})
INTROSPECTION = HOOKS | frozenset(
    {
        "__globals__", "__code__", "__closure__", "__subclasses__", "__builtins__", "__bases__", "__mro__",
        "__getattribute__", "__dict__", "__loader__", "__spec__", "__reduce__", "__reduce_ex__", "f_back", "f_locals",
        "f_globals", "tb_frame", "gi_frame", "cr_frame", "_getframe",
    }
)  # fmt: skip
