"""Every number of the automatic test that was chosen, in one place: on some problems, for all others."""

from __future__ import annotations

#: Rows that features, bandwidths and ranks are fitted on at the most (below, ranks are exact), the numbers that these
#: may have where rows are wide, and the rows that there are then at least.
SKETCH, SKETCH_NUMBERS, SKETCH_LEAST = 16_384, 2**23, 1_024
#: Ranks of more rows than a sketch has are found among every so many of its values, which stay in the cache.
RANK_STEP = 4
#: Landmarks of kernel features at the most, for rows of up to this many numbers and for wider ones.
NARROW, LANDMARKS_NARROW, LANDMARKS = 3, 512, 768
#: Where the kernel matrix of so many landmarks has a numerical rank below half of that, this many times the rank are
#: enough, and at least so many.
RANK_PROBE, LANDMARKS_PER_RANK, MIN_LANDMARKS = 200, 3, 128
#: Degrees of freedom of the ridge filters, beside the kernel itself (MMD²); at most this share of the rows.
DEGREES, LARGEST_SHARE = (4, 16, 64, 256), 0.4
#: Bandwidths are at most so many, and at least about this factor apart; those of patch features are fewer.
MAX_BANDWIDTHS, STEP, PATCH_BANDWIDTHS = 8, 1.6, 5
#: Rank cosines of each column.
COSINES = 6
#: Columns that are looked at one by one; those that vary most where there are more.
MAX_COLUMNS = 4_096
#: Pairs of columns that are looked at; the most dependent ones where there are more.
MAX_PAIRS = 2_000
#: The additive ridge form takes an eigendecomposition of all rank cosines: up to this many.
MAX_ADDITIVE = 600
#: Patches: centres, their side at the most, images that they are drawn from.
PATCHES, PATCH_SIDE, PATCH_IMAGES = 64, 5, 400
#: Principal components, of rows of at least so many numbers that are no pixels (patches see what they see, at no cost
#: to differences of a few pixels): so many of them, fitted on so many rows.
WIDE, MAX_COMPONENTS, COMPONENT_ROWS = 64, 63, 1_024
#: Exponents of the power mean of 1/p: 1 is the harmonic mean of p, and a high one the maximum. High where one of many
#: carries a difference (pairs), lower where several may (bandwidths, columns), 1 for kinds of forms and for families.
PAIRS_EXPONENT, KERNELS_EXPONENT, COLUMNS_EXPONENT, FLAT = 4.0, 2.0, 1.5, 1.0
#: Weights of families, of tables and of images: kernels given by the user count as the kernel of ours. Those of columns
#: and of pairs are multiplied by n / (n + HALF_WEIGHT) for n of them: what few columns have, a kernel sees as well. A
#: single column counts as a kernel does: its six cosines are fewer to choose from than bandwidths are.
HALF_WEIGHT = 4
WEIGHTS = {"kernel": 2.5, "columns": 1.0, "pairs": 1.0, "components": 1.0, "given": 2.5}
IMAGE_WEIGHTS = {"kernel": 1.0, "columns": 1.0, "patches": 2.0, "given": 2.0}
#: Weights of the largest column and of all columns together, of tables and of images; and likewise of pairs.
COLUMN_WEIGHTS, PIXEL_WEIGHTS, PAIR_WEIGHTS = (1.0, 1.0), (1.0, 4.0), (8.0, 1.0)
#: Where scores of families are aligned: two upper quantiles over the labellings, and the steepest that it may get.
TAILS, STEEPEST = (0.15, 0.03), 8.0
#: Scores closer than this count as tied: above the rounding of float32 sums.
TIE = 1e-4
#: Leverages are left out where samples differ by less than this share of the rows, or all have more rows than this.
UNEVEN, MANY = 0.05, 3_000
