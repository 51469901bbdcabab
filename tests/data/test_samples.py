"""What may be given as a sample, what may not, and what the complaint says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import tellapart as ta
from tellapart.data import Sample, as_pair, as_sample
from tellapart.kernels import Gaussian
from tellapart.stats.estimators import asymptotic_power

KERNEL = Gaussian(1.5)


def draw(rows: int, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, *shape))


X, Y = draw(12, 3), draw(10, 3, seed=1) + 0.5


def with_bad(value: float, *places: tuple[int, int], like: np.ndarray = X) -> np.ndarray:
    """A copy with ``value`` at some places."""
    array = like.copy()
    for place in places:
        array[place] = value
    return array


def mmd2(x: Any, y: Any, **options: Any) -> float:
    return float(ta.mmd2(x, y, KERNEL, **options))


# --- What works, and to which precision

EXACT, SINGLE = 1e-12, 2e-6


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float16", "float32"),
        (">f8", "float64"),
        (">f4", "float32"),
        ("<f8", "float64"),
        ("longdouble", "float64"),
        ("int64", "float64"),
        ("int32", "float64"),
        ("int16", "float32"),
        ("int8", "float32"),
        ("uint64", "float64"),
        ("uint32", "float64"),
        ("uint16", "float32"),
        ("uint8", "float32"),
        (">i4", "float64"),
        ("bool", "float32"),
    ],
)
def test_number_types_of_numpy(dtype: str, kept: str) -> None:
    """Every value is held exactly, and MMD² is as precise as the type that holds it."""
    # Whole numbers for whole types, fractions for the others.
    scale = 1 if np.dtype(dtype).kind == "f" else 2
    x, y = ((np.abs(data) * scale).astype(dtype) for data in (X, Y))
    values = as_sample(x).values
    assert values.dtype == getattr(torch, kept)
    assert np.array_equal(values.double().numpy(), x.astype(np.float64))
    expected = mmd2(x.astype(np.float64), y.astype(np.float64))
    assert mmd2(x, y) == pytest.approx(expected, rel=EXACT if kept == "float64" else SINGLE, abs=1e-7)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
)
def test_number_types_of_torch(dtype: torch.dtype) -> None:
    x, y = (torch.from_numpy(np.abs(data)).to(dtype) for data in (X, Y))
    found = ta.mmd2(x, y, KERNEL)
    assert isinstance(found, torch.Tensor)
    assert (found.dtype, found.shape) == (torch.float64, ())
    assert found.item() == pytest.approx(mmd2(x.double().numpy(), y.double().numpy()), rel=SINGLE, abs=1e-7)


@pytest.mark.parametrize(
    ("dtype", "digits"), [(np.float64, 1e-15), (np.float32, 6e-8), (np.float16, 5e-4), (np.longdouble, 1e-15)]
)
def test_rounded_data_give_rounded_results(dtype: type, digits: float) -> None:
    assert mmd2(X.astype(dtype), Y.astype(dtype)) == pytest.approx(mmd2(X, Y), abs=10 * digits)


def test_large_whole_numbers_stay_distinct() -> None:
    large = 2**40 + np.arange(4)
    assert np.array_equal(as_sample(large).values[:, 0].numpy(), large)


def test_types_are_joined_in_the_wider() -> None:
    x, y = as_pair(X.astype(np.float32), Y)
    assert x.values.dtype == y.values.dtype == torch.float64


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.setflags(write=False)
    return array


def field_of_records(array: np.ndarray) -> np.ndarray:
    """Strides of 25 bytes: no multiple of 8."""
    records = np.zeros(len(array), dtype=[("flag", "i1"), ("point", "f8", (3,))])
    records["point"] = array
    return records["point"]


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran": np.asfortranarray,
    "read-only": read_only,
    "negative stride": lambda a: a[::-1].copy()[::-1],
    "negative both": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "every other": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "transposed": lambda a: a.T.copy().T,
    "field of records": field_of_records,
    "matrix of objects": lambda a: a.astype(object),
    "list of lists": lambda a: a.tolist(),
    "tuple of arrays": tuple,
    "list of tensors": lambda a: list(torch.from_numpy(a.copy())),
    "DataFrame": pd.DataFrame,
    "DataFrame of nullable floats": lambda a: pd.DataFrame(a).astype("Float64"),
    "tensor": lambda a: torch.from_numpy(a.copy()),
    "tensor, every other": lambda a: torch.from_numpy(np.repeat(a, 2, 0))[::2],
    "tensor, transposed": lambda a: torch.from_numpy(a.T.copy()).T,
    "tensor with gradient": lambda a: torch.from_numpy(a.copy()).requires_grad_(),
    "Sample": lambda a: as_sample(a),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(layout: Callable[[np.ndarray], Any]) -> None:
    found = ta.mmd2(layout(X), layout(Y), KERNEL)
    found = found.item() if isinstance(found, torch.Tensor) else found
    assert found == pytest.approx(mmd2(X, Y), rel=EXACT)


@pytest.mark.parametrize("function", [ta.mmd2, ta.mmd2_variance, ta.t_statistic])
def test_tensors_give_tensors_and_the_rest_numbers(function: Callable[..., Any]) -> None:
    x = torch.from_numpy(X.copy())
    assert type(function(X, Y, KERNEL)) is float
    assert type(function(as_sample(X), as_sample(Y), KERNEL)) is float
    for pair in ((x, Y), (X, torch.from_numpy(Y.copy())), (as_sample(x), Y)):
        assert isinstance(function(*pair, KERNEL), torch.Tensor)


def test_a_flat_array_is_one_coordinate() -> None:
    assert as_sample(X[:, 0]).values.shape == (12, 1)
    assert mmd2(X[:, 0], Y[:, 0]) == mmd2(X[:, :1], Y[:, :1])
    assert mmd2(pd.Series(X[:, 0]), Y[:, 0].tolist()) == mmd2(X[:, :1], Y[:, :1])


def test_images_stay_images() -> None:
    x, y = draw(6, 28, 28), draw(5, 28, 28, seed=1)
    kernel = Gaussian(40.0)
    assert as_sample(x).values.shape == (6, 28, 28)
    assert ta.mmd2(x, y, kernel) == ta.mmd2(x.reshape(6, -1), y.reshape(5, -1), kernel)


def test_names_of_a_dataframe_are_kept() -> None:
    frame = pd.DataFrame({"height": [1.5, 2.5], 7: [1, 2], "tall": [False, True]})
    sample = as_sample(frame)
    assert sample.names == ("height", "7", "tall")
    assert sample.values.tolist() == [[1.5, 1, 0], [2.5, 2, 1]]
    assert as_sample(X).names is None


def test_a_sample_passes_unchanged() -> None:
    sample = as_sample(X)
    assert isinstance(sample, Sample)
    assert as_sample(sample) is sample
    assert len(sample) == 12


@pytest.mark.parametrize("data", [X.copy(), torch.from_numpy(X.copy())], ids=["array", "tensor"])
def test_memory_is_shared_where_it_can_be(data: Any) -> None:
    """Large data are not copied, and so nothing may write into them (see test_kernels)."""
    address = data.ctypes.data if isinstance(data, np.ndarray) else data.data_ptr()
    assert as_sample(data).values.data_ptr() == address


def test_huge_finite_values_are_finite() -> None:
    """Their sum is not."""
    assert len(as_sample(np.full((4, 2), 1e149))) == 4
    assert len(as_sample(np.full((4, 2), 3e38, dtype=np.float32))) == 4


def test_rows_enough() -> None:
    assert mmd2(X[:2], Y[:2]) == pytest.approx(mmd2(X[:2].tolist(), Y[:2].tolist()))
    assert mmd2(X[:1], Y[:1], estimator="biased") > 0
    assert math.isfinite(ta.t_statistic(X[:4], Y[:4], KERNEL))


# --- What does not work

ERRORS = [
    # values
    (with_bad(np.nan, (2, 1)), ValueError, r"X has 1 NaN among its 36 values, the first at row 2, column 1\. Remove"),
    (with_bad(np.nan, (5, 0), (3, 2)), ValueError, "X has 2 NaN among its 36 .* row 3, column 2"),
    (with_bad(np.inf, (0, 2)), ValueError, "X has 1 infinite among its 36 .* row 0, column 2"),
    (with_bad(-np.inf, (11, 0), (11, 1)), ValueError, "X has 2 infinite among its 36 .* row 11, column 0"),
    (with_bad(-np.inf, (4, 0), like=with_bad(np.inf, (1, 1))), ValueError, "X has 2 infinite .* row 1, column 1"),
    (with_bad(np.nan, (4, 0), like=with_bad(np.inf, (1, 1))), ValueError, "X has 1 NaN .* row 4, column 0"),
    (with_bad(np.nan, (2, 1)).astype(np.float16), ValueError, "X has 1 NaN .* row 2, column 1"),
    (torch.from_numpy(with_bad(np.nan, (2, 1))).requires_grad_(), ValueError, "X has 1 NaN .* row 2, column 1"),
    (
        pd.DataFrame(with_bad(np.nan, (2, 1))),
        ValueError,
        r"X has missing values in '1' \(1 of 12\)\. Read it with miss",
    ),
    ([1.0, 2.0, math.nan], ValueError, "X has 1 NaN among its 3 values, the first at row 2, column 0"),
    # shapes
    (X[:1], ValueError, "X needs at least 2 rows, but has 1"),
    ([], ValueError, "X is empty: it has no rows"),
    (np.empty((0, 3)), ValueError, "X is empty: it has no rows"),
    (torch.empty(0), ValueError, "X is empty: it has no rows"),
    (pd.DataFrame({"a": []}), ValueError, "X is empty: it has no rows"),
    (np.empty((12, 0)), ValueError, r"X has 12 rows but no columns \(shape \(12, 0\)\)"),
    ([[], []], ValueError, "X has 2 rows but no columns"),
    (3.0, ValueError, r"X is a single number\. Give one row for each point"),
    (torch.tensor(3.0), ValueError, "X is a single number"),
    ([[1.0, 2.0], [3.0]], ValueError, r"X has rows of different lengths\. Give every row the same"),
    ([[1.0, 2.0], 3.0], ValueError, "X has rows of different lengths"),
    (X[:, :2], ValueError, r"X and Y must have rows of the same shape, but X has 2 and Y has 3\. Give both"),
    (draw(12, 3, 3), ValueError, "X has 3 × 3 and Y has 3"),
    (X[:, 0], ValueError, "X has 1 and Y has 3"),
    # kinds
    ("real.npy", FileNotFoundError, r"X \(real.npy\) does not exist\. Check the path"),
    (b"real.npy", TypeError, "X is a string"),
    (None, TypeError, r"X must hold numbers, but holds None \(NoneType\)"),
    ({"a": 1}, TypeError, "X must hold numbers, but holds .*dict"),
    (["a", "b"], TypeError, r"X must hold numbers, but holds texts \('a'\)\. Give features="),
    ([[1.0, "b", 2.0]], TypeError, "X must hold numbers, but holds .* Encode text"),
    (
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        ValueError,
        "X is a table with columns that are no numbers, and",
    ),
    (pd.DataFrame({k: [1, None] for k in "abc"}, dtype="Int64"), ValueError, r"X has missing values in 'a' \(1 of 2\)"),
    (np.array(["2020-01-01", "2020-01-02"], "M8[D]"), TypeError, r"X must hold numbers, but holds datetime64\[D\]"),
    (np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), TypeError, "X must hold numbers, but holds"),
    (X + 1j, TypeError, r"X has complex numbers\. Stack the real and the imaginary part"),
    ((X + 1j).astype(np.clongdouble), TypeError, "X has complex numbers"),
    ([1j, 2.0], TypeError, "X has complex numbers"),
    (torch.from_numpy(X + 1j), TypeError, "X has complex numbers"),
    (scipy.sparse.csr_matrix(X), TypeError, r"X is sparse\. Make it dense with X\.toarray\(\)"),
    (scipy.sparse.coo_array(X), TypeError, r"X is sparse\. Make it dense with X\.toarray\(\)"),
    (torch.from_numpy(X.copy()).to_sparse(), TypeError, r"X is sparse\. Make it dense with X\.to_dense\(\)"),
]


@pytest.mark.parametrize(("data", "error", "message"), ERRORS, ids=[message for *_, message in ERRORS])
def test_errors_name_the_argument(data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ta.mmd2(data, Y, KERNEL)


def test_errors_name_the_second_argument_too() -> None:
    with pytest.raises(ValueError, match=r"^Y has 1 NaN .* row 2, column 1"):
        ta.mmd2(X, with_bad(np.nan, (2, 1), like=Y), KERNEL)
    with pytest.raises(FileNotFoundError, match=r"^Y \(fake.npy\) does not exist"):
        ta.mmd2(X, "fake.npy", KERNEL)
    with pytest.raises(ValueError, match=r"^reference is empty"):
        as_sample([], "reference")


def test_masked_values_are_not_read_as_data() -> None:
    """NumPy forgets a mask without a word, and the number behind it is no measurement."""
    masked = np.ma.masked_array(with_bad(-999.0, (2, 1)), mask=False)
    masked[2, 1] = np.ma.masked
    with pytest.raises((TypeError, ValueError), match=r"X .*mask"):
        ta.mmd2(masked, Y, KERNEL)


@pytest.mark.parametrize("function", [ta.t_statistic, ta.mmd2_variance, ta.estimate, asymptotic_power])
@pytest.mark.parametrize("rows", [1, 3])
def test_a_variance_needs_four_rows(function: Callable[..., Any], rows: int) -> None:
    with pytest.raises(ValueError, match=f"X needs at least 4 rows, but has {rows}"):
        function(X[:rows], Y, KERNEL)
    with pytest.raises(ValueError, match=f"Y needs at least 4 rows, but has {rows}"):
        function(X, Y[:rows], KERNEL)


def test_one_row_is_enough_only_for_the_biased_estimator() -> None:
    for estimator in ("full", "paired"):
        with pytest.raises(ValueError, match="Y needs at least 2 rows, but has 1"):
            mmd2(X, Y[:1], estimator=estimator)


@pytest.mark.parametrize("function", [ta.mmd2, ta.t_statistic])
def test_pairs_need_equal_sizes(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"'paired' needs .* X has 12 rows and Y has 10\. Use estimator='full'"):
        function(X, Y, KERNEL, estimator="paired")


@pytest.mark.parametrize(
    ("function", "estimator", "message"),
    [
        (ta.mmd2, "unbiased", r"estimator='unbiased' is not .* of MMD²\. Choose one of 'full', 'paired', 'biased'"),
        (ta.mmd2, None, "estimator=None is not an estimator of MMD²"),
        (ta.t_statistic, "biased", r"estimator='biased' is not .* variance\. Choose one of 'full', 'paired'\."),
        (ta.mmd2_variance, "FULL", "estimator='FULL' is not an estimator of variance"),
    ],
)
def test_unknown_estimators(function: Callable[..., Any], estimator: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(X, Y, KERNEL, estimator=estimator)


# --- max_memory


@pytest.mark.parametrize(
    "size", ["1GB", "500 MB", "500mb", "1.5 GiB", " 64 MiB ", "80000000", 10**8, 1e8, np.int64(10**8), math.inf, None]
)
def test_sizes_of_memory(size: Any) -> None:
    assert mmd2(X, Y, max_memory=size) == pytest.approx(mmd2(X, Y), rel=EXACT)


@pytest.mark.parametrize(
    ("size", "error", "message"),
    [
        ("much", ValueError, r"'much' is not a size of memory\. max_memory= takes bytes, or a size such as 500MB"),
        ("5 XB", ValueError, "'5 XB' is not a size of memory"),
        ("GB", ValueError, "'GB' is not a size of memory"),
        ("", ValueError, "'' is not a size of memory"),
        (".GB", ValueError, "'.GB' is not a size of memory"),
        ("1.2.3GB", ValueError, "'1.2.3GB' is not a size of memory"),
        ("-1GB", ValueError, "'-1GB' is not a size of memory"),
        ("0", ValueError, "max_memory= must be positive"),
        (0, ValueError, "max_memory= must be positive"),
        (-5, ValueError, "max_memory= must be positive"),
        (math.nan, ValueError, "max_memory= must be positive"),
        (True, TypeError, "A size of memory is a number of bytes or .* not of type bool"),
        ([1], TypeError, "not of type list. Correct max_memory="),
        ("1kB", MemoryError, "Tiles of .* need .* bytes, but 1,000 are allowed. Allow more"),
    ],
)
def test_bad_sizes_of_memory(size: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mmd2(X, Y, max_memory=size)


def test_columns_are_matched_by_name() -> None:
    rng = np.random.default_rng(0)
    df = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    dg = pd.DataFrame(rng.normal([0, 1, 2], size=(20, 3)), columns=["a", "b", "c"])
    assert mmd2(df, dg[["c", "a", "b"]]) == pytest.approx(mmd2(df, dg), rel=1e-12)
    with pytest.raises(ValueError, match="must have the same columns, but X lacks 'z' and Y lacks 'a'"):
        ta.mmd2(df, dg.rename(columns={"a": "z"}), KERNEL)


def test_columns_that_hold_no_numbers_are_named() -> None:
    df = pd.DataFrame({"age": [1.0, 2.0], "town": ["Ulm", "Bonn"], "day": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    with pytest.raises(TypeError, match=r"X has columns that do not hold numbers: 'town' \(text\)\. Encode text"):
        as_sample(df)
    assert as_sample(df.drop(columns="town")).values.tolist() == [[1, 19723], [2, 19724]]
