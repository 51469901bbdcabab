"""The public names of tellapart and where they live: read by type checkers, and by ``__init__.py`` itself."""

from . import (
    criticism as criticism,
    data as data,
    datasets as datasets,
    engine as engine,
    experiments as experiments,
    features as features,
    generative as generative,
    integrations as integrations,
    kernels as kernels,
    learning as learning,
    losses as losses,
    nulls as nulls,
    plots as plots,
    report as report,
    stats as stats,
    testing as testing,
    twosample as twosample,
)
from ._util.errors import (
    InputError as InputError,
)
from .criticism import (
    Comparison as Comparison,
    Exemplar as Exemplar,
    Notice as Notice,
    Slice as Slice,
    Weights as Weights,
    compare as compare,
    compare_cost as compare_cost,
    witness as witness,
)
from .data import (
    Sample as Sample,
    Source as Source,
    read as read,
)
from .engine import (
    Cost as Cost,
)
from .learning import (
    History as History,
    Selection as Selection,
    Split as Split,
    default_bandwidths as default_bandwidths,
    fit_kernel as fit_kernel,
    median_bandwidth as median_bandwidth,
    select_bandwidth as select_bandwidth,
    split_rows as split_rows,
)
from .stats.estimators import (
    BlockEstimate as BlockEstimate,
    Estimate as Estimate,
    asymptotic_power as asymptotic_power,
    block_estimate as block_estimate,
    estimate as estimate,
    mmd2 as mmd2,
    mmd2_variance as mmd2_variance,
    t_statistic as t_statistic,
)
from .twosample import (
    EquivalenceResult as EquivalenceResult,
    KSampleResult as KSampleResult,
    LearnedTest as LearnedTest,
    Monitor as Monitor,
    RankResult as RankResult,
    Reference as Reference,
    Plan as Plan,
    SplitResult as SplitResult,
    TestResult as TestResult,
    TwoSampleResult as TwoSampleResult,
    equivalence_test as equivalence_test,
    k_sample_test as k_sample_test,
    learned_test as learned_test,
    mmd_test as mmd_test,
    mmd_test_cost as mmd_test_cost,
    rank as rank,
    plan as plan,
    two_sample_test as two_sample_test,
    witness_test as witness_test,
)

__version__: str
