"""Checkpoints: one safetensors file with every tensor, and everything else as JSON in its header.

One file, renamed into place when it is whole and on the disk: whatever interrupts the writing, the last good checkpoint
is still there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer


def write(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write a checkpoint; it appears whole or not at all."""
    flat = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    unfinished = path.with_name(f".{path.name}.unfinished")
    save_file(flat, unfinished, {"tellapart": json.dumps(facts)})
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write` wrote."""
    try:
        opened = safe_open(str(path), "pt")
    except SafetensorError as error:
        raise ValueError(f"{path} is not a checkpoint: {error}.") from None
    with opened as file:
        metadata = file.metadata() or {}
        if "tellapart" not in metadata:
            raise ValueError(f"{path} is a safetensors file, but not a checkpoint of a training run.")
        # Copies: tensors in a mapped file are not aligned, and sums over them may round another way.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    return tensors, json.loads(metadata["tellapart"])


def write_text(path: Path, text: str) -> None:
    """Write a text file; it appears whole or not at all."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text)
    os.replace(unfinished, path)


def state_of(
    networks: Mapping[str, nn.Module], optimisers: Mapping[str, Optimizer]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """All tensors of networks and optimisers by name, and the optimisers' plain settings."""
    tensors = {f"network/{n}/{key}": value for n, net in networks.items() for key, value in net.state_dict().items()}
    groups = {}
    for name, optimiser in optimisers.items():
        state = optimiser.state_dict()
        groups[name] = state["param_groups"]
        for index, entries in state["state"].items():
            # A state that is None is one that does not exist yet.
            tensors |= {f"optimiser/{name}/{index}/{key}": v for key, v in entries.items() if v is not None}
    return tensors, {"optimisers": groups}


def restore(
    networks: Mapping[str, nn.Module],
    optimisers: Mapping[str, Optimizer],
    tensors: Mapping[str, Tensor],
    facts: Mapping[str, Any],
) -> None:
    """Bring networks and optimisers to the state that `state_of` saw."""
    for name, network in networks.items():
        prefix = f"network/{name}/"
        network.load_state_dict({k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)})
    for name, optimiser in optimisers.items():
        prefix = f"optimiser/{name}/"
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith(prefix):
                index, entry = key.removeprefix(prefix).split("/", 1)
                state.setdefault(int(index), {})[entry] = value
        optimiser.load_state_dict({"state": state, "param_groups": facts["optimisers"][name]})


def seeded(seed: int, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator of its own."""
    return torch.Generator(device).manual_seed(seed)
