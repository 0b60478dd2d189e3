from __future__ import annotations

from torch import Tensor


def reference(id: Tensor, table: Tensor, position: Tensor) -> Tensor:
    return table[id] + position
