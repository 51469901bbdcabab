"""Which kernels can be written to a file and made again: those whose class is registered.

To add a kernel, write one file::

    @register
    class Cauchy(Kernel):
        \"\"\"k(x, y) = 1 / (1 + |x - y|²).\"\"\"

        def tile(self, a, b, plan, out=None):
            return 1 / (1 + torch.cdist(a, b).square())

`save` and `load` know it from then on, and so does the conformance suite in ``tests/kernels``, which tries
`Kernel.examples` of every registered class. A class whose constructor takes more than parameters says so in
`Kernel.config`; the kernels that it is made of, in `Kernel.components`; and where sizes must be read off the stored
tensors, it overrides `Kernel.rebuild`.
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

#: Registered classes by the name that files know them by.
REGISTRY: dict[str, type[Kernel]] = {}


def register(kind: Class) -> Class:
    """Class decorator: `save` and `load` know kernels of this class by its name.

    >>> from tellapart.kernels import Gaussian
    >>> register(Gaussian) is Gaussian
    True
    """
    known = REGISTRY.get(kind.__name__)
    # A cell of a notebook that is run again defines the same class anew.
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise InputError(
            "name-taken",
            f"There already is a kernel class {kind.__name__}, of {known.__module__}.",
            "Register yours by another name.",
        )
    REGISTRY[kind.__name__] = kind
    return kind


@dataclass(frozen=True)
class Saved:
    """What a file holds of one kernel.

    Attributes
    ----------
    config, components
        What `Kernel.config` and `Kernel.components` returned, the components made again.
    tensors
        The tensors of its state, by the names of its ``state_dict``.
    network
        What the caller of `load` gave.
    """

    config: Mapping[str, Any]
    components: Mapping[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    network: nn.Module | None = None

    def tensor(self, name: str, ndim: int | None = None) -> Tensor:
        """A stored tensor, which has ``ndim`` dimensions."""
        found = self.tensors.get(name)
        if found is None:
            raise InputError("damaged-file", f"The tensor {name!r} is not in the file.")
        if ndim is not None and found.ndim != ndim:
            raise InputError(
                "damaged-file",
                f"The tensor {name!r} has shape {tuple(found.shape)}, but should have {ndim} dimensions.",
            )
        return found

    def check_size(self, name: str, stored: Any) -> None:
        """Complain where the header says another size than the tensors have."""
        if name in self.config and self.config[name] != stored:
            raise InputError(
                "damaged-file", f"The header says {name} = {self.config[name]!r}, but the tensors say {stored!r}."
            )
