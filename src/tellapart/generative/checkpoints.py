"""Checkpoints: all tensors of networks and optimizers by name, and plain settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict, cast, get_origin, get_type_hints

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from .._util.errors import InputError
from .._util.files import read_tensors

#: Maximum number of coordinates of a row: no images are larger.
_LARGEST_ROW = 2**31


class DataFacts(TypedDict):
    """The data of a training run: their name, the shape of an image, the number of classes and a digest."""

    name: str
    shape: list[int]
    classes: int
    digest: str


class RunFacts(TypedDict):
    """What a checkpoint of a training run stores beside its tensors."""

    model: str
    settings: dict[str, Any]
    seed: int
    step: int
    data: DataFacts
    device: str
    optimisers: dict[str, Any]


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the facts of a checkpoint."""
    return read_tensors(path, "a checkpoint of a training run")


def read_run(path: Path) -> tuple[dict[str, Tensor], RunFacts]:
    """Read the checkpoint of a training run. Its facts are checked to be complete and of the right types."""
    tensors, facts = read(path)
    lacking = [name for name in RunFacts.__annotations__ if not isinstance(facts, dict) or name not in facts]
    if lacking:
        raise InputError(
            "wrong-file-kind", f"{path} is not a checkpoint of a training run: it lacks {', '.join(lacking)}."
        )
    for known, found in ((RunFacts, facts), (DataFacts, facts["data"])):
        for name, kind in get_type_hints(known).items():
            if not isinstance(found.get(name), dict if kind is DataFacts else get_origin(kind) or kind):
                raise InputError("damaged-file", f"{path} is damaged: its {name} is {found.get(name)!r:.40}.")
    shape = facts["data"]["shape"]
    if not all(isinstance(side, int) and 0 < side < _LARGEST_ROW for side in shape) or math.prod(shape) > _LARGEST_ROW:
        raise InputError("damaged-file", f"{path} is damaged: its shape is {shape!r:.40}.")
    return tensors, cast(RunFacts, facts)


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Context that converts errors from damaged checkpoints to `InputError` with the path."""
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
    """Return all tensors of networks and optimizers by name, and the plain settings of the optimizers."""
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
    """Restore the state of networks and optimizers that `collect_state` returned."""
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

    Files whose settings describe networks of another size are rejected before memory is allocated for these.
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
    """Create a random generator with a seed."""
    return torch.Generator(device).manual_seed(seed)
