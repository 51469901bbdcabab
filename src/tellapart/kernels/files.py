"""Saving and loading kernels: parameters as safetensors, the description as JSON in the header."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from .._util.errors import InputError, InputTypeError
from .._util.files import read_tensors, write_tensors
from .base import Kernel
from .registry import REGISTRY, Saved

#: Maximum nesting depth of kernels in a file.
_DEEPEST = 50


def save(kernel: Kernel, path: str | os.PathLike[str]) -> None:
    """Write a kernel to a ``.safetensors`` file. The file is written atomically.

    Parameters
    ----------
    kernel : Kernel
        The kernel. Its class must be decorated with `register`.
    path : path
        File to write.
    """
    write_tensors(path, kernel.state_dict(), _describe(kernel))


def load(path: str | os.PathLike[str], network: nn.Module | None = None) -> Kernel:
    """Read a kernel written by `save`.

    Parameters
    ----------
    path : path
        File to read. It contains no code, and no more memory is allocated than its tensors need, whatever its header
        states.
    network : nn.Module, optional
        Network of a `Deep` kernel whose network is not an `MLP`. It must have the same architecture; its weights are
        replaced by the stored ones.

    Returns
    -------
    kernel : Kernel
        The kernel.
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
            f"A {name} kernel cannot be saved: its class is not registered with tellapart.kernels.register.",
        )
    description: dict[str, Any] = {"kernel": name, "config": kernel.config()}
    components = {argument: _describe_component(part) for argument, part in kernel.components().items()}
    return description | {"components": components} if components else description


def _describe_component(part: Any) -> Any:
    if part is None:
        return None
    return _describe(part) if isinstance(part, Kernel) else [_describe(kernel) for kernel in part]


def _make(description: Any, tensors: Mapping[str, Tensor], network: nn.Module | None, depth: int = 0) -> Kernel:
    """Create the kernel that a header describes from the tensors of its ``state_dict``."""
    if not isinstance(description, dict) or any(
        not isinstance(description.get(name, {}), dict) for name in ("config", "components")
    ):
        raise InputError("damaged-file", "Its header does not describe a kernel.")
    if depth > _DEEPEST:
        raise InputError("damaged-file", f"Its header nests kernels more than {_DEEPEST} levels deep.")
    name = description.get("kernel")
    cls = REGISTRY.get(name) if isinstance(name, str) else None
    if cls is None:
        raise InputError(
            "unknown-kernel",
            f"It contains a kernel of the unknown class {name!r}.",
            f"Import the module that defines it and registers it with tellapart.kernels.register. "
            f"Known classes: {', '.join(sorted(REGISTRY))}.",
        )

    def make(part: Any, prefix: str) -> Any:
        if part is None:
            return None
        if isinstance(part, list):
            return [make(item, f"{prefix}{k}.") for k, item in enumerate(part)]
        part_tensors = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
        return _make(part, part_tensors, network, depth + 1)

    components = {argument: make(part, f"{argument}.") for argument, part in description.get("components", {}).items()}
    return cls.rebuild(Saved(description.get("config", {}), components, tensors, network))
