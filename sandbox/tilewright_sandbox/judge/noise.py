"""How far honest float32 arithmetic may move a reference's result: Monte Carlo arithmetic with an a-priori model.

The reference runs several times in float64; after every primitive operation noise of the size that float32 rounding
makes there is added, uniform about zero, and flows on through whatever follows. The spread of the results is, element
by element, the yardstick of the error budget. No tolerance is chosen per operator.

Standard deviation of the noise, with u = 2⁻²⁴:
    sums, means, cumulative sums of K terms   u·√K·√(‖terms‖₂² + sum²/9) (random walk of the roundings of any order
                                              of summation; the second term is for a sequence of terms of one sign)
    contractions over K                       u·√K·√(‖aᵢ∘bⱼ‖₂² + sum²/9) (the same, for products)
    exp, exp2, sigmoid, expm1, pow            u·(2 + |log result|)·|result| (the argument is rounded first)
    tanh, erf, log, log1p                     2u·max(1, |result|) (commonly made from exp and a subtraction of 1)
    other arithmetic                          u·|result|
    maxima, comparisons, views, gathers       none: they are exact
Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 2.8 and 3; Parker, Monte Carlo Arithmetic,
1997.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.utils._python_dispatch import TorchDispatchMode

from .inputs import generator, torch_dtype
from .reference import Reference

U32 = 2.0**-24
U_TF32 = 2.0**-11
"""Rounding of a float32 operand to TF32, where the spec's policy allows it."""
RUNS = 8
WIDTH = 2 * 3**0.5
"""Of the uniform distribution with variance 1. Draws of ±1 alone would cancel in all runs for some elements of a
difference."""
ONE_SIGN = 1 / 9
"""Σₖ (k/K)²·S² ≈ K·S²/3 is what partial sums of one sign add up to, and a rounding has variance u²/3."""

aten = torch.ops.aten
_COMPOSITE = [
    aten._softmax, aten._log_softmax, aten.native_layer_norm, aten.gelu, aten.silu,
    aten.leaky_relu, aten.elu, aten.hardtanh, aten.mish, aten.softplus, aten.addcmul, aten.addcdiv, aten.addmm,
    aten.baddbmm, aten.logsumexp, aten.nll_loss_forward, aten.log_sigmoid_forward, aten._fused_rms_norm,
]  # fmt: skip
DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {**core_aten_decompositions(), **get_decompositions(_COMPOSITE)}

_EXPONENTIAL = {aten.exp, aten.exp2, aten.sigmoid, aten.expm1, aten.pow}
_UNIT_SCALE = {aten.tanh, aten.erf, aten.log, aten.log1p, aten.log2, aten.sin, aten.cos}
_EXACT = {
    aten.amax, aten.amin, aten.max, aten.min, aten.maximum, aten.minimum, aten.relu, aten.neg, aten.abs, aten.sign,
    aten.where, aten.clamp, aten.clamp_min, aten.clamp_max, aten.gather, aten.index, aten.index_select, aten.sort,
    aten.topk, aten.cat, aten.clone, aten._to_copy, aten.fill, aten.masked_fill, aten.scatter, aten.floor, aten.round,
}  # fmt: skip
_INTEGRAL = {
    aten.add,
    aten.sub,
    aten.rsub,
    aten.mul,
    aten.sum,
    aten.cumsum,
    aten.mm,
    aten.bmm,
    aten.dot,
    aten.mv,
    aten.convolution,
}
_ARITHMETIC = {aten.add, aten.sub, aten.rsub, aten.mul, aten.div, aten.sqrt, aten.rsqrt, aten.reciprocal, aten.square}


class FloatNoise(TorchDispatchMode):
    """Adds float32-sized random noise after each primitive operation of a float64 computation."""

    def __init__(self, noise: torch.Generator, *, tf32: bool = False) -> None:
        super().__init__()
        self.noise, self.tf32 = noise, tf32
        self.leaves_integers = False
        """Whether an operation ran that gives fractions of integers: a quotient, an exponential, a root."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch would import its whole compiler, for 2 s, in order to switch it off here

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = func.overloadpacket
        if packet in (aten.var, aten.var_mean, aten.std):
            with self:
                return _two_pass_variance(packet, **_bind(func, args, kwargs))
        if packet is aten.native_group_norm:
            with self:
                return _group_norm(*args)
        if packet is not aten.pow and func in DECOMPOSITIONS:
            with self:
                expanded = DECOMPOSITIONS[func](*args, **kwargs)
            if expanded is not NotImplemented:
                return expanded
        result = func(*args, **kwargs)
        if not isinstance(result, Tensor) or result.dtype != torch.float64 or result.numel() == 0 or packet in _EXACT:
            return result
        if not any(isinstance(argument, Tensor) for argument in args):
            return result  # a constant
        scale = _scale(packet, args, kwargs, result)
        if scale is None:
            return result
        if self.tf32 and packet in (aten.mm, aten.bmm):
            scale = scale + U_TF32 * packet(args[0].square(), args[1].square()).sqrt()
        self.leaves_integers |= packet not in _INTEGRAL
        # where the result is not finite, or has no noise, it stays as it is
        noise = torch.nan_to_num(scale, nan=0.0, posinf=0.0, neginf=0.0)
        draws = torch.rand(result.shape, generator=self.noise, dtype=torch.float64, device=result.device)
        return result + noise.mul_(draws.sub_(0.5).mul_(WIDTH))


def _scale(packet: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Tensor) -> Tensor | None:
    """Standard deviation of the noise of one operation, or None where it is exact."""
    magnitude = result.abs()
    if packet in (aten.sum, aten.mean):
        terms = args[0]
        squares = aten.sum(terms.square(), *args[1:], **{k: v for k, v in kwargs.items() if k != "dtype"})
        count = max(1, terms.numel() // max(1, result.numel()))
        total = result * count if packet is aten.mean else result
        scale = U32 * count**0.5 * (squares + ONE_SIGN * total.square()).sqrt()
        return scale / count + U32 * magnitude if packet is aten.mean else scale
    if packet is aten.cumsum:
        squares = aten.cumsum(args[0].square(), *args[1:])
        along = [1] * args[0].dim()
        along[args[1]] = -1
        counts = torch.arange(1, args[0].shape[args[1]] + 1, device=args[0].device).reshape(along)
        return U32 * (counts * (squares + ONE_SIGN * result.square())).sqrt()
    if packet in (aten.mm, aten.bmm, aten.dot, aten.mv):
        a, b = args[0], args[1]
        squares = packet(a.square(), b.square())
        return U32 * a.shape[-1] ** 0.5 * (squares + ONE_SIGN * result.square()).sqrt()
    if packet is aten.convolution:
        squares = aten.convolution(args[0].square(), args[1].square(), None, *args[3:])
        return U32 * max(1, args[1][0].numel()) ** 0.5 * squares.sqrt() + U32 * magnitude
    if packet is aten.prod:
        return U32 * max(1, args[0].numel() // max(1, result.numel())) ** 0.5 * magnitude
    if packet in _EXPONENTIAL:
        return U32 * (2 + magnitude.clamp_min(1e-300).log().abs()) * magnitude
    if packet in _UNIT_SCALE:
        return 2 * U32 * magnitude.clamp_min(1.0)
    if packet in _ARITHMETIC:
        return U32 * magnitude
    return None if not _computes(packet) else U32 * magnitude


def _computes(packet: Any) -> bool:
    """Whether an operation outside the tables rounds: views and copies do not."""
    overload = getattr(packet, packet.overloads()[0])
    return torch.Tag.pointwise in overload.tags or (torch.Tag.core in overload.tags and not overload.is_view)


def _bind(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by the names of the operator's schema."""
    names = [argument.name for argument in func._schema.arguments]
    return dict(zip(names, args, strict=False)) | dict(kwargs)


def _two_pass_variance(
    packet: Any, self: Tensor, dim: Any = None, unbiased: bool = True, correction: Any = None, keepdim: bool = False
) -> Any:
    """var, var_mean and std in terms of mean, subtraction and sum, so that each carries its noise."""
    dims = list(range(self.dim())) if dim is None else [int(d) for d in dim]
    if correction is None:
        correction = 1 if unbiased else 0
    mean = self.mean(dims, keepdim=True)
    count = self.numel() / max(1, mean.numel())
    variance = (self - mean).square().sum(dims, keepdim=True) / max(0.0, count - float(correction))
    if not keepdim:
        variance, mean = variance.squeeze(dims), mean.squeeze(dims)
    if packet is aten.std:
        return variance.sqrt()
    return (variance, mean) if packet is aten.var_mean else variance


def _group_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, batch: int, channels: int, _: int, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """native_group_norm for inputs of any rank; torch's decomposition serves only some."""
    grouped = x.reshape(batch, groups, -1)
    mean = grouped.mean(-1, keepdim=True)
    inverse = torch.rsqrt((grouped - mean).square().mean(-1, keepdim=True) + eps)
    y = ((grouped - mean) * inverse).reshape(batch, channels, -1)
    if weight is not None:
        y = y * weight.reshape(1, channels, 1)
    if bias is not None:
        y = y + bias.reshape(1, channels, 1)
    return y.reshape(x.shape), mean.squeeze(-1), inverse.squeeze(-1)


def honest_spread(
    reference: Reference, inputs: Mapping[str, Any], oracle: tuple[Tensor, ...], seed: bytes
) -> tuple[Tensor, ...]:
    """Root mean square deviation of each output element from the oracle under float32 noise; float64, same shapes."""
    squares = [torch.zeros_like(o, dtype=torch.float64) for o in oracle]
    device = oracle[0].device.type
    for run in range(RUNS):
        with FloatNoise(
            generator(seed, "noise", str(run), device=device), tf32=reference.spec.accept.precision == "tf32"
        ):
            moved = reference.run_float64(inputs)
        for square, output, exact in zip(squares, moved, oracle, strict=True):
            if output.is_floating_point():
                square += torch.nan_to_num(output - exact, nan=0.0, posinf=0.0, neginf=0.0).square()
    return tuple((square / RUNS).sqrt() for square in squares)


def keeps_integers(reference: Reference, inputs: Mapping[str, Any]) -> bool:
    """Whether the reference only adds, multiplies, compares and moves values: integers in, integers out."""
    device = next((v.device.type for v in inputs.values() if isinstance(v, Tensor)), "cpu")
    noise = FloatNoise(generator(b"", "integers", device=device))
    with noise:
        reference.run_float64(inputs)
    return not noise.leaves_integers


def half_ulp(values: Tensor, dtype: str) -> Tensor:
    """Half the spacing of `dtype` at each value: float64. Subnormal spacing is the floor; 0 for integers."""
    kind = torch_dtype(dtype)
    if not kind.is_floating_point:
        return torch.zeros_like(values, dtype=torch.float64)
    info = torch.finfo(kind)
    exponent = torch.floor(torch.log2(values.abs().clamp_min(info.smallest_normal)))
    return 0.5 * info.eps * torch.exp2(exponent)
