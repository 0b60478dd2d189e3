"""References that no template was written for, each with the spec that they would have. Needs torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tilewright_sandbox.contract import Accept, Axis, Dtype, ScalarInput, Spec, TensorInput, TensorOutput, Workload

ROWS = {"tokens": Axis(min=1, max=65536), "hidden": Axis(min=1, max=32768)}
PRODUCT = {"M": Axis(min=1, max=65536), "N": Axis(min=1, max=65536), "K": Axis(min=1, max=65536)}
X = ("tokens", "hidden")

Case = tuple[Spec, Callable[..., Any]]
CASES: dict[str, Case] = {}


def add(
    function: Callable[..., Any], axes: dict[str, Axis], inputs: dict[str, Any], outputs: dict[str, Any],
    dtype: Dtype = "float16", **accept: Any,
) -> None:  # fmt: skip
    """Register a reference; inputs and outputs are shapes, except that a number is a scalar input."""
    items = tuple(
        TensorInput(name=n, shape=given, dtype=dtype) if isinstance(given, tuple) else ScalarInput(name=n, value=given)
        for n, given in inputs.items()
    )
    made = tuple(
        TensorOutput(name=name, shape=shape, dtype=dtype if shape else "float32") for name, shape in outputs.items()
    )
    workload = Workload(role="tune", axes={name: min(axis.max, 2048) for name, axis in axes.items()})
    spec = Spec(
        name=function.__name__, summary=function.__doc__ or "", op=function.__name__, axes=axes, inputs=items,
        outputs=made, accept=Accept(**accept), workloads=(workload,), reference_sha256="0" * 64,
    )  # fmt: skip
    CASES[spec.name] = (spec, function)


def softplus_gate(x: Tensor, z: Tensor) -> Tensor:
    """y = softplus(x) * z"""
    return F.softplus(x) * z


def sigmoid_blend(x: Tensor, g: Tensor, z: Tensor) -> Tensor:
    """y = x * sigmoid(g) + z"""
    return x * torch.sigmoid(g) + z


def activations(x: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
    """Two outputs of many activations"""
    return torch.tanh(x) * F.elu(gain) + F.mish(x) - F.hardswish(x), torch.expm1(x.clamp(-3, 3)) + F.gelu(x)


def l2_normalize(x: Tensor) -> Tensor:
    """y = x / max(norm(x), 1e-12)"""
    return F.normalize(x.float(), dim=-1).to(x.dtype)


def min_max_scale(x: Tensor) -> Tensor:
    """y = (x - min) / (max - min)"""
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return (x - low) / (high - low)


def log_mean_exp(x: Tensor) -> Tensor:
    """y = log(mean(exp(x)))"""
    high = x.amax(-1, keepdim=True)
    return torch.log(torch.exp(x - high).mean(-1)) + high.squeeze(-1)


def row_deviation(x: Tensor) -> Tensor:
    """y = unbiased standard deviation of each row"""
    return x.float().std(-1).to(x.dtype)


def weighted_sum(x: Tensor, w: Tensor) -> Tensor:
    """y = sum(x * w)"""
    return (x.float() * w.float()).sum(-1).to(x.dtype)


def centred_cumsum(x: Tensor) -> Tensor:
    """y = cumsum(x - mean(x))"""
    wide = x.float()
    return torch.cumsum(wide - wide.mean(-1, keepdim=True), -1).to(x.dtype)


def mean_square_error(x: Tensor, z: Tensor) -> Tensor:
    """loss = mean((x - z)^2)"""
    return F.mse_loss(x.float(), z.float())


def instance_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """y = groupnorm of 64 channels in 8 groups, over an image"""
    return F.group_norm(x, 8, weight, None, eps)


def linear_leaky(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor) -> Tensor:
    """y = leaky_relu(x @ weight.T + bias) * scale, one scale a row"""
    return F.leaky_relu(F.linear(x.float(), weight.float(), bias.float()), 0.1).mul(scale).to(x.dtype)


def scaled_residual(a: Tensor, b: Tensor, residual: Tensor, scale: float) -> Tensor:
    """y = (a @ b) * scale + residual"""
    return ((a.float() @ b.float()) * scale + residual).to(a.dtype)


def linear_of_sequences(x: Tensor, w: Tensor) -> Tensor:
    """y = relu(x @ w) of a batch of sequences"""
    return torch.relu(x.float() @ w.float()).to(x.dtype)


add(softplus_gate, ROWS, {"x": X, "z": X}, {"y": X})
add(sigmoid_blend, ROWS, {"x": X, "g": X, "z": X}, {"y": X}, layouts=("contiguous", "strided"))
add(activations, ROWS, {"x": X, "gain": ("hidden",)}, {"y": X, "e": X})
add(l2_normalize, ROWS, {"x": X}, {"y": X})
add(min_max_scale, ROWS, {"x": X}, {"y": X})
add(log_mean_exp, ROWS, {"x": X}, {"y": ("tokens",)})
add(row_deviation, ROWS, {"x": X}, {"y": ("tokens",)})
add(weighted_sum, ROWS, {"x": X, "w": ("hidden",)}, {"y": ("tokens",)})
add(centred_cumsum, ROWS, {"x": X}, {"y": X})
add(mean_square_error, ROWS, {"x": X, "z": X}, {"loss": ()})
IMAGE = {"batch": Axis(min=1, max=64), "h": Axis(min=1, max=32), "w": Axis(min=1, max=32)}
add(instance_norm, IMAGE, {"x": ("batch", 64, "h", "w"), "weight": (64,), "eps": 1e-5}, {"y": ("batch", 64, "h", "w")})
LINEAR = {"x": ("M", "K"), "weight": ("N", "K"), "bias": ("N",), "scale": ("M", 1)}
add(linear_leaky, PRODUCT, LINEAR, {"y": ("M", "N")})
RESIDUAL = {"a": ("M", "K"), "b": ("K", "N"), "residual": ("M", "N"), "scale": 0.5}
add(scaled_residual, PRODUCT, RESIDUAL, {"y": ("M", "N")})
SEQUENCES = {
    "B": Axis(min=1, max=64),
    "T": Axis(min=1, max=4096),
    "N": Axis(min=1, max=8192),
    "K": Axis(min=1, max=8192),
}
add(linear_of_sequences, SEQUENCES, {"x": ("B", "T", "K"), "w": ("K", "N")}, {"y": ("B", "T", "N")})
