"""Features by ONNX Runtime, of a model that is written here byte by byte: no package that makes models is needed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tellapart as ta


def field(number, value):
    """A field of a protocol buffer: whole numbers, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def model(weights):
    """Y = XW and Z = |Y| in the ONNX format, opset 13."""
    d, k = weights.shape

    def tensor_info(name, width):
        sizes = field(1, field(2, "n")) + field(1, field(1, width))
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, sizes)))

    initial = field(1, d) + field(1, k) + field(2, 1) + field(8, "W") + field(9, weights.astype("<f4").tobytes())
    product = field(1, "X") + field(1, "W") + field(2, "Y") + field(4, "MatMul")
    absolute = field(1, "Y") + field(2, "Z") + field(4, "Abs")
    graph = field(1, product) + field(1, absolute) + field(2, "g") + field(5, initial)
    graph += field(11, tensor_info("X", d)) + field(12, tensor_info("Y", k)) + field(12, tensor_info("Z", k))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


@pytest.fixture
def path(tmp_path):
    (tmp_path / "model.onnx").write_bytes(model(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -2.0]])))
    return tmp_path / "model.onnx"


def test_outputs_are_compared(path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 3)), rng.normal(size=(80, 3)) + np.array([0, 3, 0])
    assert ta.two_sample_test(X, Y, rng=0).reject(0.01)
    assert not ta.two_sample_test(X, Y, features=ta.features.onnx(path), rng=0).reject(
        0.01
    )  # column 1 is not looked at
    source = ta.read(X, features=ta.features.onnx(path, "Z"))
    np.testing.assert_allclose(source.features, np.abs(X[:, [0, 2]] * [1, -2]), rtol=1e-6)
    assert source.options.to_dict()["features"] == "onnx(model.onnx)"


def test_what_is_wrong_is_said(path, monkeypatch):
    with pytest.raises(ValueError, match=r"has no output 'A'\. It has 'Y', 'Z'"):
        ta.features.onnx(path, "A")
    with pytest.raises(ValueError, match=r"model\.onnx does not accept an input of shape \(\d+, 2\)"):
        ta.two_sample_test(np.zeros((20, 2)), np.ones((20, 2)), features=ta.features.onnx(path), rng=0)
    for content in (b"", b"hello", path.read_bytes()[:-20]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"model\.onnx is damaged, or not in the format"):
            ta.features.onnx(path)
    path.write_bytes(model(np.eye(3)))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"pip install 'tellapart\[onnx\]'"):
        ta.features.onnx(path)
