"""Runs in a peer's environment, where there is NumPy and the peer: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np


def fuse(X: np.ndarray, Y: np.ndarray, permutations: int, seed: int) -> dict[str, Any]:
    import kt

    result = kt.two_sample(X, Y, method="mmdfuse", number_permutations=permutations, seed=seed)
    return {"pvalue": float(result.details["p_value"])}


def agg(X: np.ndarray, Y: np.ndarray, alpha: float, seed: int) -> dict[str, Any]:
    import kt

    return {"reject": bool(kt.two_sample(X, Y, method="mmdagg", alpha=alpha, seed=seed).reject)}


def energy(X: np.ndarray, Y: np.ndarray, permutations: int, seed: int) -> dict[str, Any]:
    from dcor.homogeneity import energy_test

    result = energy_test(X, Y, num_resamples=permutations, random_state=seed)
    return {"pvalue": float(result.pvalue), "statistic": float(result.statistic)}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        try:
            X, Y = (np.load(path) for path in request["samples"])
            start = time.process_time()
            answer = {"fuse": fuse, "agg": agg, "energy": energy}[request["test"]](X, Y, **request["settings"])
            answer["seconds"] = time.process_time() - start
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
