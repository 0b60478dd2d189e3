"""Which ATen operations a launcher may call. The capture and the interpreter worker apply the same table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

AtenKind = Literal["allocate", "fill", "view", "copy", "contraction", "reads_value", "query"]
"""allocate: a new tensor, contents undefined; fill: one constant; view: no data moves; copy: data moves or is cast;
contraction: only where the spec's `library` names it; reads_value: the host would see a tensor's contents;
query: metadata alone."""

_KINDS: dict[AtenKind, str] = {
    "allocate": "empty empty_strided empty_like empty_permuted new_empty new_empty_strided",
    "fill": "zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full fill_ zero_ scalar_tensor",
    "view": """view _unsafe_view _reshape_alias view_as transpose transpose_ t t_ permute expand unsqueeze unsqueeze_
        squeeze squeeze_ select slice as_strided as_strided_ unbind split split_with_sizes diagonal alias detach
        detach_ unfold narrow movedim lift_fresh""",
    "copy": "copy_ _to_copy clone contiguous cat stack constant_pad_nd repeat",
    "contraction": "mm addmm bmm baddbmm convolution",
    "reads_value": """_local_scalar_dense item equal nonzero nonzero_numpy masked_select _unique2 unique_dim
        unique_consecutive is_nonzero allclose argwhere""",
    "query": """sym_size sym_stride sym_numel sym_storage_offset is_contiguous device layout is_pinned stride size
        promote_types result_type can_cast""",
}
_KIND_OF: dict[str, AtenKind] = {op: kind for kind, ops in _KINDS.items() for op in ops.split()}


def op_name(func: Any) -> str:
    """`aten.mm.default` → `mm`; an operator of another namespace keeps it (`prims.add`)."""
    parts = str(func).split(".")
    return parts[1] if parts[0] in ("aten", "prim") and len(parts) > 1 else ".".join(parts[:2])


def classify_aten(func: Any) -> AtenKind | None:
    """The kind of an ATen overload (`torch.ops.aten.mm.default`), or None where a launcher may not call it."""
    return _KIND_OF.get(op_name(func))


def taken_apart(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a composite operation gives, made of the operations that torch composes it from; NotImplemented for any
    other. In inference mode torch hands composite ones (`flatten`, `to`) to dispatch modes whole."""
    if classify_aten(func) in ("query", "reads_value"):
        return NotImplemented
    return func.decompose(*args, **kwargs)


def refusal_text(func: Any, where: str, library: tuple[str, ...] = ()) -> str:
    """Why `func` may not be called, and what to do instead."""
    name = op_name(func)
    if classify_aten(func) == "contraction":
        return (
            f"{where} calls aten.{name}, and the spec's accept.library {list(library)} does not name it. "
            "Write the product as a Triton kernel, or add it to library."
        )
    return (
        f"{where} calls aten.{name}. A launcher may allocate, fill, view, copy and cast; "
        "everything that computes must be a Triton kernel."
    )
