"""The rows of all ranks of ``torch.distributed`` as one batch, which can be differentiated.

Every rank gets all rows and computes the same loss L from them, so the way back needs no communication: each rank
knows ∂L/∂x for all rows x, and keeps that of its own. Whoever trains on W ranks averages the gradients of parameters;
the gradient of L is the sum over ranks of what goes through their rows. So a rank hands back W ∂L/∂x. Parameters
of the kernel have their whole gradient on every rank, and averaging leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor

#: No (this process alone), yes (all ranks), or a process group (its ranks).
Gather: TypeAlias = "bool | dist.ProcessGroup"


def check_gather(gather: Any) -> None:
    """Complain about what is no `Gather`; None among it, which ``group.WORLD`` is before there is a group."""
    if not isinstance(gather, bool) and not (dist.is_available() and isinstance(gather, dist.ProcessGroup)):
        raise TypeError(f"gather must be True, False or a process group that this process is in, but is {gather!r}.")


def all_gather_rows(x: Tensor, y: Tensor, gather: Gather) -> tuple[Tensor, Tensor]:
    """Both samples with the rows of all ranks, in the order of ranks."""
    if gather is False:
        return x, y
    rows_x, rows_y = exchange_row_counts(x, y, gather)
    group = _group(gather)
    return _GatherRows.apply(x, rows_x, group), _GatherRows.apply(y, rows_y, group)


def exchange_row_counts(x: Tensor, y: Tensor, gather: Gather) -> list[list[int]]:
    """How many rows of both samples each rank has. Where rows differ in shape, every rank raises and none waits."""
    group = _group(gather)
    facts: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(facts, [(s.shape, s.dtype) for s in (x, y)], group)
    of_samples = list(zip(*facts, strict=True))
    for name, of_ranks in zip(("generated", "data"), of_samples, strict=True):
        rows = [" × ".join(map(str, (*shape[1:], dtype))) for shape, dtype in of_ranks]
        odd = next((rank for rank, row in enumerate(rows) if row != rows[0]), None)
        if odd is not None:
            raise ValueError(
                f"Rows of {name} must have one shape and type on all ranks to be gathered, but are {rows[0]} on rank 0 "
                f"and {rows[odd]} on rank {odd}."
            )
    return [[shape[0] for shape, _ in of_ranks] for of_ranks in of_samples]


def _group(gather: Gather) -> Any:
    if not (dist.is_available() and dist.is_initialized()):
        raise RuntimeError(
            "gather=True needs torch.distributed.init_process_group() first. For a script that also runs as one "
            "process, give gather=torch.distributed.is_initialized()."
        )
    return dist.group.WORLD if gather is True else gather


class _GatherRows(torch.autograd.Function):
    """``rows[r]`` rows come from rank r. Collectives want equal shapes, so they travel in batches of the largest."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Sequence[int], group: Any) -> Tensor:
        start = sum(rows[: dist.get_rank(group)])
        ctx.own, ctx.ranks = slice(start, start + len(x)), len(rows)
        sent = x.new_zeros(max(rows), *x.shape[1:])
        sent[: len(x)] = x
        received = [torch.empty_like(sent) for _ in rows]
        dist.all_gather(received, sent, group)
        return torch.cat([batch[:count] for batch, count in zip(received, rows, strict=True)])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad[ctx.own] * ctx.ranks, None, None
