"""Estimators of scikit-learn: a test of two labelled samples that selects columns, and a drift detector."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .._util.extras import extra
from ..data.frames import is_frame
from ..twosample import TwoSampleResult, two_sample_test

extra("sklearn", group="sklearn", what="tellapart.integrations.sklearn")

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin  # noqa: E402
from sklearn.feature_selection import SelectorMixin  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data  # noqa: E402

if TYPE_CHECKING:
    from ..data.options import Missing

Array: TypeAlias = "np.ndarray[Any, Any]"

__all__ = ["DriftDetector", "DriftWarning", "TwoSampleTest"]


class DriftWarning(UserWarning):
    """A batch is not distributed as the reference is."""


class TwoSampleTest(SelectorMixin, BaseEstimator):
    """Test whether the rows of two classes come from one distribution; `transform` keeps the columns that differ.

    Parameters
    ----------
    alpha
        The level at which columns are selected. The probability that any column is kept whose own distribution is the
        same in both classes is at most ``alpha``, however the columns depend on each other.
    permutations
        How many relabellings the observed one is compared with.
    missing
        ``"error"``; ``"indicator"`` compares what is missing too; ``"drop"`` drops rows with missing values.
    random_state
        A seed, a ``RandomState``, or None.
    keep_columns
        Columns of tables to compare though they look like ids, as in `tellapart.two_sample_test`.

    Attributes
    ----------
    pvalue_, statistic_, result_
        What `tellapart.two_sample_test` found.
    classes_
        The two labels; X is the first and Y the second.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.integrations.sklearn import TwoSampleTest
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 4)) + np.outer(y, [0, 0, 1, 0])
    >>> test = TwoSampleTest(random_state=0).fit(X, y)
    >>> test.pvalue_, test.get_support()
    (0.001, array([False, False,  True, False]))
    """

    def __init__(
        self,
        alpha: float = 0.05,
        permutations: int = 999,
        missing: Missing = "error",
        random_state: Any = None,
        keep_columns: Iterable[str] | bool | None = None,
    ) -> None:
        self.alpha, self.permutations, self.missing = alpha, permutations, missing
        self.random_state, self.keep_columns = random_state, keep_columns

    def fit(self, X: Any, y: Any, *, groups: Any = None, strata: Any = None) -> TwoSampleTest:
        """Test the rows of one label against those of the other.

        Parameters
        ----------
        X
            One row for each sample: an array, or a DataFrame, which may have columns of text and dates.
        y
            Two labels.
        groups, strata
            A label for each row, as in `tellapart.two_sample_test`.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: TwoSampleTest tells two labels apart.")
        rows = _as_rows(self, X, reset=True, at_least=4)
        labels = column_or_1d(y, warn=True)
        if len(labels) != len(rows):
            raise ValueError(f"X and y have inconsistent lengths: {len(rows)} rows and {len(labels)} labels.")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                f"Only binary classification is supported: y must have two labels, but has {len(self.classes_)}"
                f"{' class' if len(self.classes_) == 1 else ''}."
            )
        parts = [np.flatnonzero(codes == k) for k in (0, 1)]
        order = np.concatenate(parts)
        given = {
            name: np.asarray(values)[order]
            for name, values in (("groups", groups), ("strata", strata))
            if values is not None
        }
        x, y_rows = (_take(rows, part) for part in parts)
        self.result_ = _test(self, x, y_rows, **given)
        self.pvalue_, self.statistic_ = self.result_.pvalue, self.result_.statistic
        return self

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        kept = self.result_.differing_columns(self.alpha)
        named = {column for one in kept for column in (one.name, *one.columns)}
        columns = getattr(self, "feature_names_in_", np.arange(self.n_features_in_).astype(str))
        return np.array([str(column) in named for column in columns])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.missing != "error"
        # Two labels and no more: checks of scikit-learn read it here.
        from sklearn.utils import ClassifierTags

        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


class DriftDetector(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Keeps a reference sample, and tests whether batches come from its distribution.

    As the first step of a pipeline it stores what the model is fitted on, hands rows on as they are, and warns when a
    batch to be predicted is not distributed like that.

    Parameters
    ----------
    alpha
        The probability that a batch without drift is called drifted.
    on_drift
        What `transform` does about it: ``"warn"`` (a `DriftWarning`), ``"raise"``, or ``"ignore"`` (no test).
    permutations, missing, random_state, keep_columns
        As in `TwoSampleTest`.

    Attributes
    ----------
    reference_
        The rows that batches are compared with.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.integrations.sklearn import DriftDetector
    >>> rng = np.random.default_rng(0)
    >>> detector = DriftDetector(random_state=0).fit(rng.normal(size=(200, 3)))
    >>> detector.predict(rng.normal(size=(50, 3))).max(), detector.predict(rng.normal(size=(50, 3)) + 1).min()
    (np.int64(0), np.int64(1))
    """

    def __init__(
        self,
        alpha: float = 0.01,
        on_drift: Literal["warn", "raise", "ignore"] = "warn",
        permutations: int = 999,
        missing: Missing = "error",
        random_state: Any = None,
        keep_columns: Iterable[str] | bool | None = None,
    ) -> None:
        self.alpha, self.on_drift, self.permutations = alpha, on_drift, permutations
        self.missing, self.random_state, self.keep_columns = missing, random_state, keep_columns

    def fit(self, X: Any, y: Any = None) -> DriftDetector:
        """Keep the reference."""
        if self.on_drift not in ("warn", "raise", "ignore"):
            raise ValueError(f"on_drift={self.on_drift!r} is not known. Choose 'warn', 'raise' or 'ignore'.")
        self.reference_ = _as_rows(self, X, reset=True, at_least=2)
        return self

    def test(self, X: Any) -> TwoSampleResult:
        """The test of a batch, of at least 2 rows, against the reference."""
        check_is_fitted(self)
        return _test(self, self.reference_, _as_rows(self, X, reset=False, at_least=2))

    def predict(self, X: Any) -> Array:
        """1 for each row of a batch that differs from the reference at level ``alpha``, else 0: one verdict for all."""
        check_is_fitted(self)
        rows = _as_rows(self, X, reset=False, at_least=1)
        drifted = len(rows) > 1 and self.test(X).reject(self.alpha)
        return np.full(len(rows), int(drifted))

    def transform(self, X: Any) -> Any:
        """The rows as they came, after a test of them."""
        check_is_fitted(self)
        rows = _as_rows(self, X, reset=False, at_least=1)
        if self.on_drift != "ignore" and len(rows) > 1 and (found := self.test(X)).reject(self.alpha):
            named = found.differing_columns(self.alpha).names
            what = f"{', '.join(map(repr, named)) or 'no single column'} {'differ' if len(named) > 1 else 'differs'}"
            message = f"This batch is not distributed as the reference (p = {found.pvalue:.3g}; {what})."
            if self.on_drift == "raise":
                raise ValueError(message)
            warnings.warn(message, DriftWarning, stacklevel=2)
        return rows

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Keep the reference and hand it on; it is not tested against itself."""
        return self.fit(X, y).reference_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _as_rows(estimator: Any, X: Any, *, reset: bool, at_least: int) -> Any:
    """Arrays as scikit-learn checks them; DataFrames as they are: they may hold text."""
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    finite = True if estimator.missing == "error" else "allow-nan"
    return validate_data(estimator, X, reset=reset, ensure_min_samples=at_least, ensure_all_finite=finite)


def _take(rows: Any, part: Array) -> Any:
    return rows.iloc[part] if hasattr(rows, "iloc") else rows[part]


def _test(estimator: Any, x: Any, y: Any, **given: Any) -> TwoSampleResult:
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    options = {"missing": estimator.missing, "keep_columns": estimator.keep_columns, "rng": seed}
    return two_sample_test(x, y, estimator.permutations, **options, **given)
