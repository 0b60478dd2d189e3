from __future__ import annotations

from torch import Tensor


def reference(q: Tensor, scale: Tensor) -> Tensor:
    return q.float() * scale[:, None]
