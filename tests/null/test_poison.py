"""Poison is what its name says in every dtype, repeats without a seam, and its first missing byte is found."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright_sandbox.contract import DTYPE_BYTES, Dtype
from tilewright_sandbox.poison import Poison, first_overwritten, poison_bytes, poison_word

FLOATS: tuple[Dtype, ...] = ("float16", "float32", "float64")


@pytest.mark.parametrize("dtype", FLOATS)
def test_values(dtype: Dtype) -> None:
    def values(poison: Poison) -> np.ndarray:
        return np.frombuffer(poison_bytes(poison, dtype, 64), dtype)

    assert np.isnan(values("nan")).all()
    assert np.isposinf(values("inf")).all()
    assert np.isfinite(values("large")).all()
    assert (values("large") > 60_000).all()
    assert not values("zero").any()


def test_integers_are_far_from_any_index() -> None:
    for dtype in ("int32", "int64"):
        assert (np.frombuffer(poison_word("nan", dtype), dtype) == -1).all()
        assert (np.frombuffer(poison_word("inf", dtype), dtype) == np.iinfo(dtype).max).all()
        assert (np.frombuffer(poison_word("large", dtype), dtype) > 1 << 30).all()


@pytest.mark.parametrize("poison", ["nan", "inf", "large", "zero"])
@pytest.mark.parametrize("dtype", DTYPE_BYTES)
def test_the_first_overwritten_byte_is_found(poison: Poison, dtype: Dtype) -> None:
    margin = bytearray(poison_bytes(poison, dtype, 100))
    assert len(poison_word(poison, dtype)) == 8
    assert first_overwritten(poison, dtype, bytes(margin)) is None
    margin[70] ^= 1
    margin[33] ^= 1
    assert first_overwritten(poison, dtype, bytes(margin)) == 33


def test_all_but_infinity_are_the_same_bytes_in_every_dtype() -> None:
    """The judge compares margins of buffers whose dtype it is not told."""
    for poison in ("nan", "large", "zero"):
        assert len({poison_word(poison, dtype) for dtype in DTYPE_BYTES}) == 1
