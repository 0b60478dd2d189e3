"""Inputs drawn from a seed: the same seed, name and axes give the same values in every process.

Every tensor's generator is seeded by SHA-256 over (seed, distribution, input name, axes), never by hash(). Values are
drawn on the device that is asked for: a CPU and a GPU give different ones from one seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..contract import Dtype, ScalarInput, Spec, TensorInput, resolve_shape

Inputs = dict[str, Any]
"""Tensors and scalars by name, in the spec's order."""


def torch_dtype(dtype: str) -> torch.dtype:
    found = getattr(torch, dtype)
    assert isinstance(found, torch.dtype)
    return found


def generator(seed: bytes, *names: str, device: str = "cpu") -> torch.Generator:
    digest = hashlib.sha256(b"\0".join([seed, *(name.encode() for name in names)])).digest()
    made = torch.Generator(device)
    made.manual_seed(int.from_bytes(digest[:8], "little") & (2**63 - 1))
    return made


def _normal(shape: tuple[int, ...], g: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=g, dtype=torch.float64, device=g.device)


def _uniform(shape: tuple[int, ...], g: torch.Generator) -> Tensor:
    return torch.rand(shape, generator=g, dtype=torch.float64, device=g.device)


def _heavy(shape: tuple[int, ...], g: torch.Generator) -> Tensor:
    """Student's t with two degrees of freedom: z / sqrt(E), E exponential with mean 1; clipped at 1e4."""
    exponential = -torch.log1p(-_uniform(shape, g))
    return (_normal(shape, g) / exponential.clamp_min(1e-8).sqrt()).clamp(-1e4, 1e4)


def _shifted(shape: tuple[int, ...], g: torch.Generator) -> Tensor:
    return 4.0 + _normal(shape, g)


def _signed_lognormal(shape: tuple[int, ...], g: torch.Generator) -> Tensor:
    return torch.exp(_normal(shape, g)) * torch.where(_uniform(shape, g) < 0.5, -1.0, 1.0)


DISTRIBUTIONS: dict[str, Callable[[tuple[int, ...], torch.Generator], Tensor]] = {
    "normal": _normal,
    "uniform": _uniform,
    "heavy": _heavy,
    "shifted": _shifted,
    "signed_lognormal": _signed_lognormal,
}


def within_domain(values: Tensor, tensor: TensorInput) -> Tensor:
    """Values squeezed into [low, high] where the spec bounds them; elsewhere unchanged."""
    if tensor.low is None and tensor.high is None:
        return values
    if tensor.low is not None and tensor.high is not None:
        return tensor.low + (tensor.high - tensor.low) * torch.sigmoid(values)
    if tensor.low is not None:
        return tensor.low + values.abs()
    assert tensor.high is not None
    return tensor.high - values.abs()


def draw_tensor(
    tensor: TensorInput,
    axes: Mapping[str, int],
    seed: bytes,
    dtype: Dtype | None = None,
    distribution: str = "spec",
    device: str = "cpu",
) -> Tensor:
    """One input, contiguous, of `dtype` or the spec's own; values are rounded from float64 once."""
    shape = resolve_shape(tensor.shape, dict(axes))
    g = generator(seed, distribution, tensor.name, repr(sorted(axes.items())), device=device)
    target = torch_dtype(dtype or tensor.dtype)
    if tensor.fill == "index":
        below = tensor.index_below
        high = axes[below] if isinstance(below, str) else below
        assert high is not None
        return torch.randint(0, high, shape, generator=g, device=device).to(target)
    if distribution == "spec" and tensor.fill == "uniform":
        low = 0.0 if tensor.low is None else tensor.low
        high_value = low + 1.0 if tensor.high is None else tensor.high
        return (low + (high_value - low) * _uniform(shape, g)).to(target)
    draw = DISTRIBUTIONS["normal" if distribution == "spec" else distribution]
    return within_domain(draw(shape, g), tensor).to(target)


def draw_inputs(
    spec: Spec,
    axes: Mapping[str, int],
    seed: bytes,
    dtypes: Mapping[str, Dtype] | None = None,
    distribution: str = "spec",
    device: str = "cpu",
) -> Inputs:
    """All inputs of one case, in the spec's order.

    `distribution`: `spec` follows each input's fill; any name of DISTRIBUTIONS overrides it for floating inputs.
    `dtypes`: by input name, where a twin differs from the spec.
    """
    dtypes = dtypes or {}
    return {
        item.name: item.value
        if isinstance(item, ScalarInput)
        else draw_tensor(item, axes, seed, dtypes.get(item.name), distribution, device)
        for item in spec.inputs
    }
