"""scikit-learn estimators: a two-sample test that selects features, and a drift detector."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .._util.extras import extra
from ..data.formats.frames import is_frame
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
    """The distribution of a batch differs from that of the reference."""


class TwoSampleTest(SelectorMixin, BaseEstimator):
    """Two-sample test of the rows of two classes, and selector of the columns that differ.

    Parameters
    ----------
    alpha : float, default 0.05
        Significance level at which columns are selected. The probability that any column is selected whose marginal
        distribution is the same in both classes is at most ``alpha``, however the columns depend on each other.
    permutations : int, default 999
        Number of permutations.
    missing : {"error", "indicator", "drop"}, default "error"
        Treatment of missing values: ``"error"`` raises, ``"indicator"`` compares missing indicators as well, and
        ``"drop"`` drops rows with missing values.
    random_state : int, RandomState instance or None, default None
        Seed of the permutations.
    keep_columns : iterable of str or bool, optional
        Columns of a table to compare even if they look like ids, as in `tellapart.two_sample_test`.

    Attributes
    ----------
    pvalue_ : float
        P-value of the test.
    statistic_ : float
        Test statistic.
    result_ : TwoSampleResult
        Result of `tellapart.two_sample_test`.
    classes_ : ndarray of shape (2,)
        Class labels. X is the sample of the first label and Y that of the second.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`, if the data have column names.

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
        """Test the rows of one class against those of the other.

        Parameters
        ----------
        X : array_like or DataFrame of shape (n_samples, n_features)
            The rows. A DataFrame may have columns of text and dates.
        y : array_like of shape (n_samples,)
            Class labels, with two distinct values.
        groups, strata : array_like of shape (n_samples,), optional
            Labels of the rows, as in `tellapart.two_sample_test`.

        Returns
        -------
        self : TwoSampleTest
            Fitted estimator.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: TwoSampleTest compares two classes.")
        rows = _as_rows(self, X, reset=True, at_least=4)
        labels = column_or_1d(y, warn=True)
        if len(labels) != len(rows):
            raise ValueError(f"X and y have inconsistent lengths: {len(rows)} rows and {len(labels)} labels.")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                f"Only binary classification is supported: y must have two classes, but has {len(self.classes_)}"
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
        findings = self.result_.differing_columns(self.alpha)
        differing = {column for finding in findings for column in (finding.name, *finding.columns)}
        columns = getattr(self, "feature_names_in_", np.arange(self.n_features_in_).astype(str))
        return np.array([str(column) in differing for column in columns])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.missing != "error"
        # The estimator checks of scikit-learn read from here that y must be binary.
        from sklearn.utils import ClassifierTags

        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


class DriftDetector(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Detector of batches whose distribution differs from that of a reference sample.

    As the first step of a pipeline, it stores the training data, passes rows on unchanged, and warns if a batch to be
    predicted differs in distribution from the training data.

    Parameters
    ----------
    alpha : float, default 0.01
        Significance level, i.e. the probability that drift is detected in a batch without drift.
    on_drift : {"warn", "raise", "ignore"}, default "warn"
        Action of `transform` on drift: issue a `DriftWarning`, raise ``ValueError``, or skip the test.
    permutations : int, default 999
        Number of permutations.
    missing : {"error", "indicator", "drop"}, default "error"
        Treatment of missing values, as in `TwoSampleTest`.
    random_state : int, RandomState instance or None, default None
        Seed of the permutations.
    keep_columns : iterable of str or bool, optional
        Columns of a table to compare even if they look like ids.

    Attributes
    ----------
    reference_ : ndarray or DataFrame
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
        """Store the reference.

        Parameters
        ----------
        X : array_like or DataFrame of shape (n_samples, n_features)
            The reference sample.
        y : None
            Ignored.

        Returns
        -------
        self : DriftDetector
            Fitted estimator.
        """
        if self.on_drift not in ("warn", "raise", "ignore"):
            raise ValueError(f"`on_drift` must be 'warn', 'raise' or 'ignore', got {self.on_drift!r}.")
        self.reference_ = _as_rows(self, X, reset=True, at_least=2)
        return self

    def test(self, X: Any) -> TwoSampleResult:
        """Test a batch of at least 2 rows against the reference.

        Parameters
        ----------
        X : array_like or DataFrame of shape (n_samples, n_features)
            The batch.

        Returns
        -------
        result : TwoSampleResult
            Result of `tellapart.two_sample_test`.
        """
        check_is_fitted(self)
        return _test(self, self.reference_, _as_rows(self, X, reset=False, at_least=2))

    def predict(self, X: Any) -> Array:
        """Predict whether a batch has drifted.

        Parameters
        ----------
        X : array_like or DataFrame of shape (n_samples, n_features)
            The batch.

        Returns
        -------
        drifted : ndarray of int of shape (n_samples,)
            1 if the batch differs from the reference at level ``alpha``, else 0. All rows have the same value.
        """
        check_is_fitted(self)
        rows = _as_rows(self, X, reset=False, at_least=1)
        drifted = len(rows) > 1 and self.test(X).reject(self.alpha)
        return np.full(len(rows), int(drifted))

    def transform(self, X: Any) -> Any:
        """Test a batch, act on drift as ``on_drift`` specifies, and return the rows unchanged.

        Parameters
        ----------
        X : array_like or DataFrame of shape (n_samples, n_features)
            The batch.

        Returns
        -------
        rows : ndarray or DataFrame of shape (n_samples, n_features)
            The rows of the batch.
        """
        check_is_fitted(self)
        rows = _as_rows(self, X, reset=False, at_least=1)
        if self.on_drift != "ignore" and len(rows) > 1 and (result := self.test(X)).reject(self.alpha):
            names = result.differing_columns(self.alpha).names
            differing = f"{', '.join(map(repr, names)) or 'no single column'} differ{'' if len(names) > 1 else 's'}"
            message = f"The batch differs in distribution from the reference (p = {result.pvalue:.3g}; {differing})."
            if self.on_drift == "raise":
                raise ValueError(message)
            warnings.warn(message, DriftWarning, stacklevel=2)
        return rows

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Store the reference and return it, without testing it against itself."""
        return self.fit(X, y).reference_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _as_rows(estimator: Any, X: Any, *, reset: bool, at_least: int) -> Any:
    """Validate arrays as scikit-learn does. DataFrames, which may contain text, are returned unchanged."""
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
