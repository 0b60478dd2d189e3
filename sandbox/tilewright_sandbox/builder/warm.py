"""What forked children would otherwise each pay for: torch's fake tensors imported, Triton's compiler initialised."""

from __future__ import annotations

import functools
import os
import tempfile

import torch
import triton
import triton.language as tl
from torch._subclasses.fake_tensor import FakeTensorMode
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit  # type: ignore[untyped-decorator]
def _warm(pointer, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(pointer + offsets, mask=offsets < count, other=0.0)
    tl.store(pointer + offsets, values / tl.sum(tl.exp(values)), mask=offsets < count)


@functools.cache
def warm_capture() -> None:
    """Once a process: the first fake tensor imports a good second's worth of torch."""
    with FakeTensorMode():
        torch.empty(2, 2).t().clone()


@functools.cache
def warm_compiler() -> None:
    """Once a process. What is compiled is thrown away; the process keeps no GPU state."""
    with tempfile.TemporaryDirectory(prefix="tilewright-warm-") as folder:
        before = os.environ.get("TRITON_CACHE_DIR")
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            source = ASTSource(_warm, {"pointer": "*fp32", "count": "i32", "BLOCK": "constexpr"}, {(2,): 128})
            triton.compile(source, target=GPUTarget("cuda", 90, 32))
        finally:
            if before is None:
                del os.environ["TRITON_CACHE_DIR"]
            else:
                os.environ["TRITON_CACHE_DIR"] = before
