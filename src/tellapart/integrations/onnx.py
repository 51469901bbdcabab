"""Features computed by an ONNX model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._util.errors import InputError, InputFileError, InputTypeError
from .._util.extras import extra
from ..data.arrays import as_array
from ..data.stores import naming_file


def onnx(
    path: str | os.PathLike[str], output: str | None = None, *, providers: Sequence[str] = ("CPUExecutionProvider",)
) -> Callable[[Any], Any]:
    """Return a feature function that applies an ONNX model to rows or images.

    Requires the extra ``onnx``.

    Parameters
    ----------
    path : path
        ONNX file. The model must have one input: rows of shape (n, d), or images with values between 0 and 1 of shape
        (n, channels, height, width).
    output : str, optional
        Name of the output to use. By default the first.
    providers : sequence of str, default ("CPUExecutionProvider",)
        Execution providers of ONNX Runtime.

    Returns
    -------
    features : callable
        Function of an array, to be passed as ``features=``.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise InputFileError("file-not-found", f"File not found: {file}.")
    library = extra("onnxruntime", group="onnx", what="ta.features.onnx")
    with naming_file(file.name):
        session = library.InferenceSession(str(file), providers=list(providers))
    inputs, outputs = session.get_inputs(), [node.name for node in session.get_outputs()]
    if len(inputs) != 1:
        raise InputError(
            "unsuitable-features", f"{file.name} must have one input, but has {[node.name for node in inputs]}."
        )
    if output is not None and output not in outputs:
        raise InputError(
            "unknown-member", f"{file.name} has no output {output!r}. It has {', '.join(map(repr, outputs))}."
        )
    dtype = {"tensor(double)": "float64", "tensor(float16)": "float16"}.get(inputs[0].type, "float32")

    def features(rows: Any) -> Any:
        if isinstance(rows, (list, tuple)):
            raise InputTypeError(
                "unsuitable-features",
                f"{file.name} accepts numbers and images, but got texts. Use a feature function of texts.",
            )
        values = as_array(rows, "rows").astype(dtype)
        try:
            return session.run([output or outputs[0]], {inputs[0].name: values})[0]
        except Exception as error:  # the exceptions of ONNX Runtime have no common base class
            raise InputError(
                "unsuitable-features", f"{file.name} does not accept an input of shape {values.shape}: {error}"
            ) from error

    features.__name__ = f"onnx({file.name})"
    features.takes_arrays = True  # type: ignore[attr-defined]
    return features
