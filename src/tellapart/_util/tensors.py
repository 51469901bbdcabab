"""Tensors are recognised without importing torch: whoever has one has imported it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeGuard

    from torch import Tensor


def loaded_torch() -> Any:
    """The module torch if it is imported, else None."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") else None  # another thread may be importing it


def is_tensor(value: Any) -> TypeGuard[Tensor]:
    """Whether a value is a tensor of torch.

    >>> import numpy as np
    >>> is_tensor(np.zeros(3))
    False
    """
    torch = loaded_torch()
    return torch is not None and isinstance(value, torch.Tensor)
