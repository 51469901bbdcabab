"""Registry of kernel classes, which can be saved and loaded.

A new kernel is one class in one file::

    @register
    class Cauchy(Kernel):
        \"\"\"k(x, y) = 1 / (1 + |x - y|²).\"\"\"

        def tile(self, a, b, plan, out=None):
            return 1 / (1 + torch.cdist(a, b).square())

Registered kernels can be passed to `save` and `load`, and the conformance suite in ``tests/kernels`` tests the
`Kernel.examples` of every registered class. Override `Kernel.config` to return constructor arguments that are not
parameters, `Kernel.components` to return those that are kernels, and `Kernel.rebuild` if sizes must be inferred from
the stored tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from torch import Tensor, nn

from .._util.errors import InputError

if TYPE_CHECKING:
    from .base import Kernel

Class = TypeVar("Class", bound="type[Kernel]")

#: Registered classes by their names in files.
REGISTRY: dict[str, type[Kernel]] = {}


def register(cls: Class) -> Class:
    """Class decorator that registers a kernel by its class name, for `save` and `load`.

    >>> from tellapart.kernels import Gaussian
    >>> register(Gaussian) is Gaussian
    True
    """
    existing = REGISTRY.get(cls.__name__)
    # Running a notebook cell again defines the same class again.
    if existing is not None and (existing.__module__, existing.__qualname__) != (cls.__module__, cls.__qualname__):
        raise InputError(
            "name-taken",
            f"A kernel class {cls.__name__} is already registered by {existing.__module__}.",
            "Use another class name.",
        )
    REGISTRY[cls.__name__] = cls
    return cls


@dataclass(frozen=True)
class Saved:
    """Contents of a file that describe one kernel.

    Attributes
    ----------
    config : mapping of str to Any
        Value of `Kernel.config`.
    components : mapping of str to Any
        Value of `Kernel.components`, with the kernels recreated.
    tensors : mapping of str to Tensor
        Tensors by their names in ``state_dict``.
    network : nn.Module or None
        Network passed to `load`.
    """

    config: Mapping[str, Any]
    components: Mapping[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    network: nn.Module | None = None

    def tensor(self, name: str, ndim: int | None = None) -> Tensor:
        """Return a stored tensor. Raise `InputError` if it is missing or does not have ``ndim`` dimensions."""
        tensor = self.tensors.get(name)
        if tensor is None:
            raise InputError("damaged-file", f"The tensor {name!r} is not in the file.")
        if ndim is not None and tensor.ndim != ndim:
            raise InputError(
                "damaged-file",
                f"The tensor {name!r} has shape {tuple(tensor.shape)}, but should have {ndim} dimensions.",
            )
        return tensor

    def check_size(self, name: str, stored: Any) -> None:
        """Raise `InputError` if the header and the tensors disagree on a size."""
        if name in self.config and self.config[name] != stored:
            raise InputError(
                "damaged-file",
                f"The header specifies {name} = {self.config[name]!r}, but the tensors have {stored!r}.",
            )
