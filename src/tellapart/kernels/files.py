"""Kernels as files: parameters in safetensors, how to make the kernel again as JSON in the header."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import nn

from .._util.files import read_tensors, write_tensors
from .base import Combination, Kernel, Product, Sum
from .deep import MLP, Deep
from .gaussian import ARD, Gaussian, Mixture
from .given import FromFunction, Precomputed
from .products import Linear, Polynomial
from .stationary import Laplacian, Matern, RationalQuadratic
from .witness import Witness

_PLAIN: dict[str, type[Kernel]] = {
    kind.__name__: kind for kind in (Gaussian, ARD, Mixture, RationalQuadratic, Matern, Laplacian, Linear, Polynomial)
}
_COMBINED: dict[str, type[Combination]] = {kind.__name__: kind for kind in (Sum, Product)}


def save(kernel: Kernel, path: str | os.PathLike[str]) -> None:
    """Write a kernel to one ``.safetensors`` file; it appears whole or not at all."""
    write_tensors(path, kernel.state_dict(), _describe(kernel))


def load(path: str | os.PathLike[str], network: nn.Module | None = None) -> Kernel:
    """Read a kernel that `save` wrote.

    Parameters
    ----------
    path
        The file.
    network
        For a `Deep` kernel whose network is not an `MLP`: a network of the same architecture, whose weights are
        then replaced by the stored ones.
    """
    state, spec = read_tensors(path, "a kernel written by tellapart.kernels.save")
    kernel = _make(spec, network)
    kernel.load_state_dict(state, assign=True)
    return kernel


def _describe(kernel: Kernel) -> dict[str, Any]:
    name = type(kernel).__name__
    if isinstance(kernel, Combination):
        return {"kernel": name, "parts": [_describe(part) for part in kernel.kernels]}
    if isinstance(kernel, Deep):
        inner = {"kernel": name, "config": kernel.config(), "inner": _describe(kernel.kernel)}
        return inner | {"original": None if kernel.original is None else _describe(kernel.original)}
    if isinstance(kernel, Witness):
        return {"kernel": name, "config": kernel.config(), "inner": _describe(kernel.kernel)}
    if isinstance(kernel, FromFunction) or not (name in _PLAIN or isinstance(kernel, Precomputed)):
        raise TypeError(f"A {name} kernel cannot be saved: only its own code can make it again.")
    return {"kernel": name, "config": kernel.config()}


def _make(spec: dict[str, Any], network: nn.Module | None) -> Kernel:
    name = spec["kernel"]
    if name in _COMBINED:
        return _COMBINED[name]([_make(part, network) for part in spec["parts"]])
    if name == "Deep":
        config = spec["config"]
        if network is None and "widths" not in config:
            raise ValueError(
                f"This kernel has a network of class {config['network']}: give one as load(path, network=…)."
            )
        original = None if spec["original"] is None else _make(spec["original"], network)
        network = MLP(config["widths"]) if network is None else network
        return Deep(network, _make(spec["inner"], network), original=original)
    if name == "Witness":
        shape = spec["config"]["points"]
        return Witness(_make(spec["inner"], network), torch.zeros(shape), torch.zeros(shape[0]))
    if name == "Precomputed":
        return Precomputed(torch.eye(spec["config"]["rows"]))
    return _PLAIN[name](**spec["config"])
