from __future__ import annotations

from torch import Tensor


def reference(m: Tensor) -> Tensor:
    return m[:, 0] * m[:, 3] - m[:, 1] * m[:, 2]
