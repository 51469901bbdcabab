"""What a checkpoint holds: every tensor of networks and optimisers by name, and their plain settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from .._util.errors import InputError
from .._util.files import read_tensors

#: What every checkpoint of a run says of itself, and of what type that is.
FACTS = {"model": str, "settings": dict, "seed": int, "step": int, "data": dict, "device": str, "optimisers": dict}
#: What it says of its data.
DATA = {"name": str, "shape": list, "classes": int, "digest": str}
#: Maximum number of coordinates of a row: no images are larger.
_LARGEST_ROW = 2**31


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the facts of a checkpoint."""
    return read_tensors(path, "a checkpoint of a training run")


def read_run(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the facts of a checkpoint of a training run, whose facts are all there."""
    tensors, facts = read(path)
    lacking = [name for name in FACTS if not isinstance(facts, dict) or name not in facts]
    if lacking:
        raise InputError(
            "wrong-file-kind", f"{path} is not a checkpoint of a training run: it lacks {', '.join(lacking)}."
        )
    for known, found in ((FACTS, facts), (DATA, facts["data"])):
        for name, kind in known.items():
            if not isinstance(found.get(name), kind):
                raise InputError("damaged-file", f"{path} is damaged: its {name} is {found.get(name)!r:.40}.")
    shape = facts["data"]["shape"]
    if not all(isinstance(side, int) and 0 < side < _LARGEST_ROW for side in shape) or math.prod(shape) > _LARGEST_ROW:
        raise InputError("damaged-file", f"{path} is damaged: its shape is {shape!r:.40}.")
    return tensors, facts


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """What a checkpoint lacks, or has in another form, becomes an error that names it."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise InputError("damaged-file", f"{path} is damaged: {reason:.200}.") from error


def collect_state(
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


def restore_state(
    networks: Mapping[str, nn.Module],
    optimisers: Mapping[str, Optimizer],
    tensors: Mapping[str, Tensor],
    facts: Mapping[str, Any],
) -> None:
    """Bring networks and optimisers to the state that `collect_state` saw."""
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


def check_shapes(path: Path, tensors: Mapping[str, Tensor], shapes: Mapping[str, torch.Size]) -> None:
    """Raise `InputError` if a checkpoint does not contain the networks that its settings describe.

    A file whose settings ask for networks of another size is found out before memory is taken for them.
    """
    held = {key.removeprefix("network/"): value.shape for key, value in tensors.items() if key.startswith("network/")}
    for name in sorted(held.keys() | shapes.keys()):
        if held.get(name) != shapes.get(name):
            raise InputError(
                "damaged-file",
                f"{path} is damaged: by its settings, {name} has shape {_describe(shapes.get(name))}, "
                f"but the file holds {_describe(held.get(name))}.",
            )


def _describe(shape: torch.Size | None) -> str:
    return "no tensor" if shape is None else str(tuple(shape))


def make_generator(seed: int, device: torch.device | str = "cpu") -> torch.Generator:
    """A random generator that starts from ``seed``."""
    return torch.Generator(device).manual_seed(seed)
