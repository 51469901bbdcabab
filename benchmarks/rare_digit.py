"""What a test that is told the digits could find of "MNIST: one digit half as frequent" (500 + 500 images).

    python benchmarks/rare_digit.py [--rows 500] [--repetitions 1000]

The problem is that of ``power.py`` (each digit in turn). No test of images can be expected to see more than one of the
true labels: χ² of all ten counts, which does not know what digit it is; and of that digit, for a test that is told.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import chi2_contingency

from tellapart import datasets

ALPHA = 0.05


def differ(table: np.ndarray) -> bool:
    return bool(chi2_contingency(table[:, table.sum(0) > 0], correction=False)[1] <= ALPHA)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=1000)
    options = parser.parse_args()
    labels = datasets.mnist().test_labels
    found = np.zeros((10, 2))
    for seed in range(options.repetitions):
        digit = seed % 10
        samples = datasets.underrepresented(
            labels, labels, digit, 0.5, options.rows, options.rows, rng=1_000_000 + seed
        )
        counts = np.stack([np.bincount(one, minlength=10) for one in samples])
        of_digit = np.stack([counts[:, digit], counts.sum(1) - counts[:, digit]], 1)
        found[digit] += [differ(counts), differ(of_digit)]
    found /= options.repetitions / 10
    print(f"{options.rows} + {options.rows} images, level {ALPHA}, {options.repetitions} repetitions")
    print("digit     χ² of ten counts   the digit known")
    for digit, (of_ten, of_one) in enumerate(found):
        print(f"{digit:5d}     {of_ten:16.2f}   {of_one:15.2f}")
    print(f"all       {found[:, 0].mean():16.2f}   {found[:, 1].mean():15.2f}")


if __name__ == "__main__":
    main()
