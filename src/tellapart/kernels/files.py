"""Kernels as files: parameters in safetensors, how to make the kernel again as JSON in the header."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from .._util.errors import InputError, InputTypeError
from .._util.files import read_tensors, write_tensors
from .base import Kernel
from .registry import REGISTRY, Saved

#: How deep kernels may be nested in a file.
_DEEPEST = 50


def save(kernel: Kernel, path: str | os.PathLike[str]) -> None:
    """Write a kernel to one ``.safetensors`` file; it appears whole or not at all.

    Kernels of your own can be saved if their class is decorated with `register`.
    """
    write_tensors(path, kernel.state_dict(), _describe(kernel))


def load(path: str | os.PathLike[str], network: nn.Module | None = None) -> Kernel:
    """Read a kernel that `save` wrote.

    Parameters
    ----------
    path
        The file. Nothing larger than its tensors is made of it, whatever its header says, and no code is in it.
    network
        For a `Deep` kernel whose network is not an `MLP`: a network of the same architecture, whose weights are
        then replaced by the stored ones.
    """
    tensors, description = read_tensors(path, "a kernel written by tellapart.kernels.save")
    try:
        kernel = _make(description, tensors, network)
        kernel.load_state_dict(tensors, assign=True)
    except InputError as error:
        raise error.after(f"{path} cannot be read as a kernel. ") from error
    except (ValueError, TypeError, KeyError, IndexError, RuntimeError) as error:
        problem = " ".join(str(error).split())
        raise InputError("damaged-file", f"{path} cannot be read as a kernel. {problem}") from error
    return kernel


def _describe(kernel: Kernel) -> dict[str, Any]:
    name = type(kernel).__name__
    if REGISTRY.get(name) is not type(kernel):
        raise InputTypeError(
            "cannot-be-saved",
            f"A {name} kernel cannot be saved: its class is not one that tellapart.kernels.register has been told of.",
        )
    found: dict[str, Any] = {"kernel": name, "config": kernel.config()}
    components = {argument: _describe_component(part) for argument, part in kernel.components().items()}
    return found | {"components": components} if components else found


def _describe_component(part: Any) -> Any:
    if part is None:
        return None
    return _describe(part) if isinstance(part, Kernel) else [_describe(one) for one in part]


def _make(description: Any, tensors: Mapping[str, Tensor], network: nn.Module | None, depth: int = 0) -> Kernel:
    """The kernel that a header describes; ``tensors`` are those of its state, by the names in that."""
    if not isinstance(description, dict) or any(
        not isinstance(description.get(name, {}), dict) for name in ("config", "components")
    ):
        raise InputError("damaged-file", "Its header does not describe a kernel.")
    if depth > _DEEPEST:
        raise InputError("damaged-file", f"Its header describes kernels within kernels more than {_DEEPEST} deep.")
    name = description.get("kernel")
    kind = REGISTRY.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InputError(
            "unknown-kernel",
            f"It holds a kernel of class {name!r}, which is not known here.",
            f"Import the module that defines it and decorates it with tellapart.kernels.register. "
            f"Known are {', '.join(sorted(REGISTRY))}.",
        )

    def make(part: Any, prefix: str) -> Any:
        if part is None:
            return None
        if isinstance(part, list):
            return [make(one, f"{prefix}{k}.") for k, one in enumerate(part)]
        own = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
        return _make(part, own, network, depth + 1)

    components = {argument: make(part, f"{argument}.") for argument, part in description.get("components", {}).items()}
    return kind.rebuild(Saved(description.get("config", {}), components, tensors, network))
