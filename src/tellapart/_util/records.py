"""Trees of dataclasses, arrays and plain values as arrays and JSON, and back: files that hold data and no code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from .errors import InputError, InputTypeError

Array: TypeAlias = np.ndarray[Any, Any]

#: How deep a tree may be.
_DEEPEST = 20
_DTYPES = {name: np.dtype(name) for name in ("float32", "float64")}


class Records:
    """What makes plain values of objects of some classes, and these objects again.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     name: str
    ...     place: np.ndarray
    >>> facts, arrays = Records([Point]).pack(Point("a", np.array([1.0, 2.0])))
    >>> Records([Point]).unpack(facts, arrays)
    Point(name='a', place=array([1., 2.]))
    """

    def __init__(self, classes: list[type]) -> None:
        self.classes = {kind.__name__: kind for kind in classes}

    def pack(self, value: Any) -> tuple[Any, dict[str, Array]]:
        """The value as JSON, and its arrays by the names that stand there."""
        arrays: dict[str, Array] = {}
        return self._pack(value, arrays), arrays

    def _pack(self, value: Any, arrays: dict[str, Array]) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value.item() if isinstance(value, np.generic) else value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return {"array": _keep(value, arrays)}
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if isinstance(value, dict):
            return {"dict": {str(key): self._pack(part, arrays) for key, part in value.items()}}
        kind = type(value).__name__
        if self.classes.get(kind) is type(value):
            return {"class": kind, "fields": {f: self._pack(getattr(value, f), arrays) for f in _fields(type(value))}}
        if isinstance(value, (tuple, list)):
            if len(value) > 1 and all(isinstance(part, np.ndarray) and part.ndim == 1 for part in value):
                lengths = np.array([len(part) for part in value])
                return {"arrays": _keep(np.concatenate(value), arrays), "lengths": _keep(lengths, arrays)}
            return [self._pack(part, arrays) for part in value]
        raise InputTypeError("cannot-be-saved", f"An object of class {kind} cannot be saved.")

    def unpack(self, facts: Any, arrays: Mapping[str, Array], depth: int = 0) -> Any:
        """Return the unpacked value, with lists as tuples. Raise for anything that `pack` would not have written."""
        if depth > _DEEPEST:
            raise InputError("damaged-file", f"Its header is nested more than {_DEEPEST} deep.")
        if facts is None or isinstance(facts, (bool, int, float, str)):
            return facts
        if isinstance(facts, list):
            return tuple(self.unpack(part, arrays, depth + 1) for part in facts)
        keys = set(facts) if isinstance(facts, dict) else set()
        if keys == {"array"}:
            return _find(arrays, facts["array"])
        if keys == {"arrays", "lengths"}:
            whole, lengths = (_find(arrays, facts[key]) for key in ("arrays", "lengths"))
            if whole.ndim != 1 or lengths.dtype != np.int64 or lengths.min() < 0 or lengths.sum() != len(whole):
                raise InputError("damaged-file", "Its arrays do not have the lengths that its header says.")
            return tuple(np.split(whole, np.cumsum(lengths)[:-1]))
        if keys == {"dtype"} and facts["dtype"] in _DTYPES:
            return _DTYPES[facts["dtype"]]
        if keys == {"dict"} and isinstance(facts["dict"], dict):
            return {key: self.unpack(part, arrays, depth + 1) for key, part in facts["dict"].items()}
        if keys == {"class", "fields"} and isinstance(facts["class"], str) and isinstance(facts["fields"], dict):
            kind = self.classes.get(facts["class"])
            if kind is None or set(facts["fields"]) != set(_fields(kind)):
                raise InputError(
                    "other-version", f"It holds a {facts['class']!r} that is not known here: it is of another version."
                )
            values = {key: self.unpack(part, arrays, depth + 1) for key, part in facts["fields"].items()}
            hints = get_type_hints(kind)
            odd = next((key for key, value in values.items() if not fits(value, hints[key])), None)
            if odd is not None:
                raise InputError("damaged-file", f"Its {odd} of a {facts['class']} is not of the right type.")
            return kind(**values)
        raise InputError("damaged-file", "Its header says what is not understood.")


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a field is declared with.

    >>> fits((1, 2), tuple[int, ...]), fits((1, "a"), tuple[int, ...]), fits(None, float | None)
    (True, False, True)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or getattr(hint, "_is_protocol", False):
        return True
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple:
        if arguments[1:] == (...,):
            return isinstance(value, tuple) and all(fits(part, arguments[0]) for part in value)
        return isinstance(value, tuple) and len(value) == len(arguments) and all(map(fits, value, arguments))
    if origin is dict:
        return isinstance(value, dict) and all(fits(part, arguments[1]) for part in value.values())
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if hint is int and isinstance(value, bool):
        return False
    return isinstance(value, origin or hint)


def _fields(kind: type) -> list[str]:
    return [f.name for f in fields(kind)] if is_dataclass(kind) else list(kind._fields)  # type: ignore[attr-defined]


def _keep(value: Array, arrays: dict[str, Array]) -> str:
    name = str(len(arrays))
    arrays[name] = np.array(value)
    return name


def _find(arrays: Mapping[str, Array], name: Any) -> Array:
    if not isinstance(name, str) or name not in arrays:
        raise InputError("damaged-file", "Its header names an array that is not there.")
    found = arrays[name]
    if found.dtype.kind == "f" and not bool(np.isfinite(found).all()):
        raise InputError("damaged-file", "It holds numbers that are not finite.")
    return found
