from __future__ import annotations

import torch
from torch import Tensor


def reference(q: Tensor, scale: Tensor) -> Tensor:
    return q.float() * scale[:, None]
