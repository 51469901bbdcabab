"""The public names of tellapart and where they live: read by type checkers, and by ``__init__.py`` itself."""

from . import (
    datasets as datasets,
    features as features,
    generative as generative,
    kernels as kernels,
    losses as losses,
    nulls as nulls,
    plots as plots,
    results as results,
    testing as testing,
)
from ._util.errors import (
    InputError as InputError,
)
from .criticism import (
    compare as compare,
)
from .data import (
    read as read,
)
from .learning import (
    fit_kernel as fit_kernel,
    select_bandwidth as select_bandwidth,
)
from .stats.estimators import (
    estimate as estimate,
    mmd2 as mmd2,
    mmd2_variance as mmd2_variance,
    t_statistic as t_statistic,
)
from .twosample import (
    Reference as Reference,
    equivalence_test as equivalence_test,
    k_sample_test as k_sample_test,
    learned_test as learned_test,
    mmd_test as mmd_test,
    plan as plan,
    rank as rank,
    two_sample_test as two_sample_test,
)

__version__: str
