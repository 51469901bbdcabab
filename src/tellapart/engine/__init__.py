"""Reductions of a kernel matrix that is never stored.

A *tile* contains the kernel values between two blocks of points. It is computed, reduced and discarded. The kernel
matrix of the pooled points without its diagonal is U + Uᵀ with U strictly upper triangular, and only U is computed:
tiles on the diagonal are restricted to their upper triangle. A *strip* is the row of tiles of a block. Strips are the
tasks of an `Executor` (threads, or the workers of a cluster). Their results are joined in a tree of fixed shape, so
that a result has the same bits for every executor.

Gradients take two passes: the first keeps only sums, the second recomputes the tiles and propagates the gradient,
which is a_i + b_j + c + γ k_ij for one entry (MATHS §3), through the kernel. Small sets of tiles are kept between
the passes.

Cost: N²/2 kernel evaluations for N points, and memory for a few tiles for each thread and for the features. Features
that do not fit are recomputed when needed.
"""

from typing import TYPE_CHECKING

from .._util.lazy_names import lazy_names
from .compute import Compute, MemoryLike, computing
from .executors import Executor, Progress

if TYPE_CHECKING:
    from .costs import Cost, measure
    from .passes import Pass
    from .products import Forms, bin_sums, bins_pass, forms_pass, product, quadratic_forms
    from .totals import Sums, block_sums, sums, sums_pass

__all__ = [
    "Compute",
    "Cost",
    "Executor",
    "Forms",
    "MemoryLike",
    "Pass",
    "Progress",
    "Sums",
    "bin_sums",
    "bins_pass",
    "block_sums",
    "computing",
    "forms_pass",
    "measure",
    "product",
    "quadratic_forms",
    "sums",
    "sums_pass",
]

#: What looks at tiles comes with torch, when it is first used; sums over rows do without.
_HOME = {
    "Cost": "costs",
    "measure": "costs",
    "Pass": "passes",
    **dict.fromkeys(("Forms", "bin_sums", "bins_pass", "forms_pass", "product", "quadratic_forms"), "products"),
    **dict.fromkeys(("Sums", "block_sums", "sums", "sums_pass"), "totals"),
}
__getattr__ = lazy_names(__name__, _HOME)
