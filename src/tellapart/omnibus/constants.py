"""Numbers chosen for the omnibus test as a whole; those of one family are in its file.

They were chosen on some problems and are used for all others.
"""

from __future__ import annotations

#: Maximum number of rows that features, bandwidths and ranks are fitted on (with fewer rows, ranks are exact); the
#: maximum number of values in these rows if rows are wide; and the minimum number of rows in that case.
SKETCH, SKETCH_NUMBERS, SKETCH_LEAST = 16_384, 2**23, 1_024
#: With more rows than the sketch has, ranks are computed among every fourth of its sorted values, which fit into cache.
RANK_STEP = 4
#: Maximum number of landmarks of kernel features, for rows with up to `NARROW` varying columns and for wider ones.
NARROW, LANDMARKS_NARROW, LANDMARKS = 3, 512, 768
#: Maximum number of columns that are compared one by one; with more columns, those with the largest variance.
MAX_COLUMNS = 4_096
#: Upper quantiles over the permutations at which scores of families are calibrated, and the maximum slope.
TAILS, STEEPEST = (0.15, 0.03), 8.0
#: Scores closer than this are ties. It exceeds the rounding error of float32 sums.
TIE = 1e-4
#: Leverages are not computed if sample sizes differ by less than this share of the rows, or all exceed this size.
UNEVEN, MANY = 0.05, 3_000
