"""All problems of the league, in four groups.

development
    Settings of our tests were chosen on these, and on these only.
reporting
    Only reported. Some are of a family that also has a development problem (Blob-D, HDGM, perturbed uniform) at another
    size, dimension or strength: `Problem.note` says so.
real
    Only reported, too: tables, images and embeddings of real data with 20 to 300 rows, none of which was used to choose
    anything.
null
    P = Q where that is hard: ties, discrete data, very unequal sizes, ten rows.

Sizes and strengths of four reporting and real problems were changed after 12 samples of each, at seeds from 10,000 on,
had been tried by the median kernel, the energy distance, KS/χ² and logistic regression. The perturbed uniforms have two
waves along each axis because MMD-FUSE and MMDAgg then have about the power that others reported (12 to 20 samples).
`auto` was not run for any of this.
"""

from __future__ import annotations

from . import images, synthetic, tables, texts
from .problem import Problem, Size

GROUPS = ("development", "reporting", "real", "null")


def equal(*sizes: int) -> tuple[Size, ...]:
    return tuple((size, size) for size in sizes)


def _development() -> list[Problem]:
    s, t, i = synthetic, tables, images
    group = "development"
    return [
        Problem("dev_uniform_2d", "Perturbed uniform, d = 2, 1 wave of 0.7", group, equal(300, 500), s.uniform(2, 0.7)),
        Problem(
            "dev_uniform_2d_fine",
            "Perturbed uniform, d = 2, 2 × 2 waves of 0.8",
            group,
            equal(300, 600),
            s.uniform(2, 0.8, 2),
        ),
        Problem(
            "dev_uniform_1d", "Perturbed uniform, d = 1, 1 wave of 0.35", group, equal(200, 400), s.uniform(1, 0.35)
        ),
        Problem(
            "dev_uniform_1d_fine",
            "Perturbed uniform, d = 1, 2 waves of 0.35",
            group,
            equal(250, 500),
            s.uniform(1, 0.35, 2),
        ),
        Problem("dev_shift_all", "Shift of 0.15 in 12 of 12", group, equal(75, 150), s.shift(12, 12, 0.15)),
        Problem("dev_shift_one", "Shift of 0.4 in 1 of 30", group, equal(100, 200), s.shift(30, 1, 0.4)),
        Problem("dev_shift_few", "Shift of 0.25 in 4 of 30", group, equal(100, 200), s.shift(30, 4, 0.25)),
        Problem("dev_wider", "1 of 30 is 1.5 times as wide", group, equal(100, 200), s.wider(30, 1, 1.5)),
        Problem("dev_correlation", "Correlation 0.4 of 2 in 8", group, equal(100, 200), s.correlation(8, 0.4)),
        Problem("dev_correlation_wide", "Correlation 0.3 of 2 in 20", group, equal(200, 400), s.correlation(20, 0.3)),
        Problem("dev_tails", "Heavier tails (t₅), d = 5", group, equal(150, 300), s.tails(5, 5)),
        Problem("dev_tails_1d", "Heavier tails (t₄), d = 1", group, equal(200, 400), s.tails(1, 4)),
        Problem("dev_laplace", "Normal v Laplace, d = 3", group, equal(150, 300), s.laplace(3)),
        Problem("dev_blobs", "Blobs, 4 × 4, ε = 4", group, equal(300, 600), s.blobs(4, grid=4)),
        Problem("dev_blob_d", "Blob-D", group, equal(90, 180), s.blob_d),
        Problem("dev_hdgm_6", "HDGM, d = 6", group, equal(500, 1000), s.hdgm(6)),
        Problem("dev_hdgm_10", "HDGM, d = 10", group, equal(1500), s.hdgm(10)),
        Problem(
            "dev_embeddings_noise",
            "Embeddings, d = 256: noise 1.08 times as large",
            group,
            equal(75, 150),
            s.embeddings(256, noise=1.08, seed=1),
        ),
        Problem(
            "dev_embeddings_shift",
            "Embeddings, d = 256: a shift of 0.6 across the factors",
            group,
            equal(250, 500),
            s.embeddings(256, shift=0.6, seed=1),
        ),
        Problem("mixture", "Mixture at ±20, σ = 1.3", group, equal(500, 1000), s.mixture(20, 1.3)),
        t.mixed("dev_wine", "Wine: cultivar 1, 40% of cultivar 2", group, equal(10, 20), "wine", 0, 1, 0.4),
        t.mixed("dev_iris", "Iris: versicolor, half virginica", group, equal(10, 20), "iris", 1, 2, 0.5),
        t.decoupled("dev_wine_decoupled", "Wine: flavanoids decoupled", group, equal(30, 60), "wine", "flavanoids"),
        t.more_of("dev_diabetes", "Diabetes: more severe cases", group, equal(50, 100), "diabetes"),
        i.rare("dev_mnist_rare", "MNIST (training): one digit half as frequent", group, equal(250, 500), part="train"),
        i.digit_mixture("dev_digits", "Digits 8 × 8: 1s, 30% are 7s", group, equal(20, 40), 1, 7, 0.3),
        i.digit_mixture("dev_digits_2", "Digits 8 × 8: 2s, 30% are 0s", group, equal(15, 30), 2, 0, 0.3),
        i.digit_mixture(
            "dev_digits_pca", "Digits, 10 components: 6s, 30% are 4s", group, equal(20, 40), 6, 4, 0.3, components=10
        ),
        i.mnist_mixture("dev_mnist", "MNIST: 7s, 30% are 2s", group, equal(30, 60), 7, 2, 0.3),
        i.shifted(
            "dev_mnist_noise", "MNIST (training): noise", group, equal(50, 200), i.noise(0.06), 0.5, part="train"
        ),
    ]


def _reporting() -> list[Problem]:
    s, t, i = synthetic, tables, images
    group = "reporting"
    loudly = equal(50, 200, 1000)
    family = "A development problem is of the same family, with other parameters."
    size = "A development problem is the same at another size."
    return [
        Problem(
            "uniform_2d_08",
            "Perturbed uniform, d = 2, 2 × 2 waves of 0.8",
            group,
            equal(300, 500),
            s.uniform(2, 0.8, 2),
            note=size,
        ),
        Problem(
            "uniform_2d_06",
            "Perturbed uniform, d = 2, 2 × 2 waves of 0.6",
            group,
            equal(500, 1000),
            s.uniform(2, 0.6, 2),
            note=family,
        ),
        Problem(
            "uniform_1d_03",
            "Perturbed uniform, d = 1, 2 waves of 0.3",
            group,
            equal(250, 500),
            s.uniform(1, 0.3, 2),
            note=family,
        ),
        Problem("shift_all", "Shift of 0.12 in 20 of 20", group, equal(100, 200), s.shift(20, 20, 0.12), note=family),
        Problem("shift_one", "Shift of 0.35 in 1 of 50", group, equal(200, 400), s.shift(50, 1, 0.35), note=family),
        Problem("wider_one", "1 of 50 is twice as wide", group, equal(100, 200), s.wider(50, 1, 2.0), note=family),
        Problem(
            "correlation", "Correlation 0.35 of 2 in 10", group, equal(125, 250), s.correlation(10, 0.35), note=family
        ),
        Problem("blob_d", "Blob-D", group, equal(270, 540), s.blob_d, note=size),
        Problem("blobs", "Blobs, 5 × 5, ε = 4", group, equal(500, 1000), s.blobs(4), note=family),
        Problem("hdgm", "HDGM, d = 10", group, equal(1000, 2000, 4000), s.hdgm(10), note=size),
        Problem(
            "mixture_2d", "Mixture at ±15, d = 2, σ = 1.25", group, equal(300, 600), s.mixture(15, 1.25, 2), note=family
        ),
        Problem(
            "embeddings_noise",
            "Embeddings, d = 384: noise 1.05 times as large",
            group,
            equal(50, 100),
            s.embeddings(384, noise=1.05, seed=2),
            note=family,
        ),
        Problem(
            "embeddings_smooth",
            "Embeddings, d = 768: noise 0.95 times as large",
            group,
            equal(50, 100),
            s.embeddings(768, noise=0.95, seed=3),
            note=family,
        ),
        Problem(
            "embeddings_shift",
            "Embeddings, d = 128: a shift of 0.7 across the factors",
            group,
            equal(200, 400),
            s.embeddings(128, shift=0.7, seed=4),
            note=family,
        ),
        Problem(
            "embeddings_rarer",
            "Embeddings, d = 384: a cluster a third as frequent",
            group,
            equal(200, 400),
            s.embeddings(384, rarer=1 / 3, seed=5),
        ),
        Problem("mirrored", "Skewed v its mirror image, d = 4", group, equal(100, 200), s.mirrored(4)),
        Problem("outliers", "5% outliers in 5 columns", group, equal(100, 200), s.contaminated(5, 0.05, 4.0)),
        Problem(
            "higgs_like",
            "HIGGS-like table, 28 columns",
            group,
            equal(100, 200),
            s.higgs_like,
            note="A simulated stand-in with the columns of HIGGS; not the data set.",
        ),
        i.generated("generated_bw", "MNIST v generated, black and white", group, equal(30, 60), binary=True),
        i.generated("generated_grey", "MNIST v generated, grey", group, equal(30, 60), binary=False),
        i.rare("mnist_rare", "MNIST: one digit half as frequent", group, equal(500, 1000)),
        i.shifted("mnist_noise", "MNIST: noise in 30% of images", group, loudly, i.noise(0.1), 0.3),
        i.shifted("mnist_moved", "MNIST: 50% turned, moved, scaled a little", group, loudly, i.transformed, 0.5),
        i.knocked_out("mnist_knocked_out", "MNIST: no zeros", group, loudly, digit=0),
        i.shifted("mnist_blur", "MNIST: 20% with small steps to a blur", group, loudly, i.step_to_blur(0.05), 0.2),
        t.column_shifted("wine_shifted", "Wine: hue higher by 0.5 sd", group, equal(40, 80), "wine", "hue", 0.5),
        t.decoupled("wine_decoupled", "Wine: colour decoupled", group, equal(40, 80), "wine", "color_intensity"),
        t.category_rarer("wine_rarer", "Wine: cultivar 3 half as frequent", group, equal(30, 60), "wine", "3"),
        t.column_shifted(
            "cancer_shifted",
            "Tumours: texture higher by 0.3 sd",
            group,
            equal(100, 200),
            "breast_cancer",
            "mean texture",
            0.3,
        ),
        t.decoupled(
            "cancer_decoupled",
            "Tumours: smoothness decoupled",
            group,
            equal(100, 200),
            "breast_cancer",
            "mean smoothness",
        ),
        t.category_rarer(
            "cancer_rarer", "Tumours: malignant half as frequent", group, equal(60, 120), "breast_cancer", "malignant"
        ),
        t.column_shifted(
            "diabetes_shifted", "Diabetes: pressure higher by 0.3 sd", group, equal(100, 200), "diabetes", "bp", 0.3
        ),
        t.decoupled("diabetes_decoupled", "Diabetes: BMI decoupled", group, equal(100, 200), "diabetes", "bmi"),
        t.category_rarer(
            "diabetes_rarer", "Diabetes: one sex half as frequent", group, equal(60, 120), "diabetes", "2"
        ),
    ]


def _real() -> list[Problem]:
    t, i, x = tables, images, texts
    group = "real"
    return [
        t.mixed("real_wine", "Wine: cultivar 2, 30% of cultivar 3", group, equal(20, 30), "wine", 1, 2, 0.3),
        t.mixed("real_cancer", "Tumours: benign, 30% malignant", group, equal(20, 40), "breast_cancer", 1, 0, 0.3),
        t.divided("real_diabetes_sex", "Diabetes: by sex", group, equal(30, 60), "diabetes", "sex"),
        t.divided("real_diabetes_age", "Diabetes: by age", group, equal(30, 60), "diabetes", "age"),
        i.digit_mixture("real_digits", "Digits 8 × 8: 3s, 30% are 8s", group, equal(20, 40), 3, 8, 0.3),
        i.digit_mixture(
            "real_digits_pca", "Digits, 10 components: 5s, 30% are 9s", group, equal(20, 40), 5, 9, 0.3, components=10
        ),
        i.digit_writers("real_writers", "Digits 8 × 8: first v second half of the file", group, equal(50, 100)),
        i.mnist_mixture("real_mnist", "MNIST: 4s, 30% are 9s", group, equal(30, 60), 4, 9, 0.3),
        i.mnist_mixture(
            "real_mnist_pca", "MNIST, 20 components: 3s, 30% are 5s", group, equal(30, 60), 3, 5, 0.3, components=20
        ),
        i.mnist_sources("real_mnist_sources", "MNIST: cleaner v other half of the test images", group, equal(30, 60)),
        i.patches("real_patches", "Photographs: patches of a temple, 30% of a flower", group, equal(30, 60), 0.3),
        i.blurred_patches("real_patches_blurred", "Photographs: patches, blurred a little", group, equal(50, 100)),
        x.docstrings(
            "real_docs_numpy",
            "Documentation: NumPy v SciPy, hashed words",
            group,
            equal(30, 60),
            "numpy",
            "scipy.stats",
        ),
        x.docstrings(
            "real_docs_torch",
            "Documentation: torch v scikit-learn, hashed words",
            group,
            equal(20, 40),
            "torch",
            "sklearn.metrics",
        ),
        x.docstrings(
            "real_minilm_numpy",
            "Documentation: NumPy v SciPy, MiniLM embeddings",
            group,
            equal(20, 40),
            "numpy",
            "scipy.stats",
            vectors=x.sentences,
        ),
        x.docstrings(
            "real_minilm_torch",
            "Documentation: torch v scikit-learn, MiniLM embeddings",
            group,
            equal(20, 40),
            "torch",
            "sklearn.metrics",
            vectors=x.sentences,
        ),
        x.simplified(
            "real_minilm_lowercase",
            "Documentation: without punctuation, MiniLM embeddings",
            group,
            equal(20, 40),
            "numpy",
        ),
    ]


def _null() -> list[Problem]:
    s, t, i = synthetic, tables, images
    group = "null"
    few = ((10, 10), (10, 15))
    return [
        Problem("null_normal", "Normal, d = 5", group, equal(50, 200), null=s.normal(5)),
        Problem("null_cauchy", "Cauchy, d = 3", group, equal(50, 200), null=s.cauchy(3)),
        Problem("null_ties", "Normal, rounded to halves, d = 3", group, equal(50, 200), null=s.rounded(3)),
        Problem("null_counts", "Counts (Poisson 1), d = 4", group, equal(50, 200), null=s.counts(4)),
        Problem("null_binary", "Rare 0/1 columns, d = 20", group, equal(50, 200), null=s.binary(20, 0.05)),
        Problem("null_unequal", "Normal, d = 5, 30 v many", group, ((30, 300), (30, 3000)), null=s.normal(5)),
        Problem("null_unequal_counts", "Counts, d = 4, 30 v many", group, ((30, 300), (30, 3000)), null=s.counts(4)),
        Problem("null_ten", "Normal, d = 3, ten rows", group, few, null=s.normal(3)),
        Problem("null_ten_counts", "Counts, d = 4, ten rows", group, few, null=s.counts(4)),
        t.unchanged(
            "null_mixed", "Tumours with diagnosis: numbers and a category", group, equal(50, 200), "breast_cancer"
        ),
        i.unchanged("null_mnist_bw", "MNIST, black and white, constant pixels", group, equal(20, 100), binary=True),
    ]


PROBLEMS = {p.name: p for p in [*_development(), *_reporting(), *_real(), *_null()]}
