from __future__ import annotations

from torch import Tensor


def reference(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum()
