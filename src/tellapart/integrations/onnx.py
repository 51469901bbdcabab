"""Features by a model in the ONNX format."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._util.errors import InputError, InputFileError, InputTypeError
from .._util.extras import extra
from ..data.stores import naming_file


def onnx(
    path: str | os.PathLike[str], output: str | None = None, *, providers: Sequence[str] = ("CPUExecutionProvider",)
) -> Callable[[Any], Any]:
    """What a model in an ONNX file says of each row or image (the extra ``onnx``).

    Parameters
    ----------
    path
        The file. The model has one input: rows of shape (n, d), or images between 0 and 1 of shape (n, channels, h, w).
    output
        Which of its outputs; by default the first.
    providers
        Where it is computed, as ONNX Runtime calls it.

    Returns
    -------
    A function of a tensor, to be given as ``features=``.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise InputFileError("file-not-found", f"There is no file {file}.")
    library = extra("onnxruntime", group="onnx", what="ta.features.onnx")
    with naming_file(file.name):
        session = library.InferenceSession(str(file), providers=list(providers))
    inputs, outputs = session.get_inputs(), [one.name for one in session.get_outputs()]
    if len(inputs) != 1:
        raise InputError(
            "unsuitable-features", f"{file.name} must have one input, but has {[one.name for one in inputs]}."
        )
    if output is not None and output not in outputs:
        raise InputError(
            "unknown-member", f"{file.name} has no output {output!r}. It has {', '.join(map(repr, outputs))}."
        )
    dtype = {"tensor(double)": "float64", "tensor(float16)": "float16"}.get(inputs[0].type, "float32")

    def features(rows: Any) -> Any:
        if isinstance(rows, (list, tuple)):
            raise InputTypeError(
                "unsuitable-features", f"{file.name} is for numbers and images, but got texts. Give features of texts."
            )
        values = rows.cpu().numpy().astype(dtype)
        try:
            return session.run([output or outputs[0]], {inputs[0].name: values})[0]
        except Exception as error:  # the library has a class for each kind, and no common one
            raise InputError(
                "unsuitable-features", f"{file.name} does not take an input of shape {values.shape}: {error}"
            ) from error

    features.__name__ = f"onnx({file.name})"
    return features
