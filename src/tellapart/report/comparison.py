"""The page of a comparison: its view, with pictures of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._util.numbers import number, p_sentence, percent
from .._util.view import Block, Detail, Facts, Headline, Notes, Point, Tile, View
from ..criticism import Comparison
from ..criticism.separability import GRADES
from ..learning import NAMES
from ..twosample.views import distinct_names, explain_pvalue, families_table, interpret, pvalue_tile
from .blocks import Command, PictureBlock
from .columns import columns_block
from .examples import RowRenderer, examples_block
from .images import PixelBlock, pixels_block
from .learning import learning_figure
from .pairs import pairs_block
from .slices import kinds_block, slices_block
from .svg import Markup, tag
from .texts import texts_block
from .weights import weights_block
from .words import clip

#: Columns that are named in a sentence, and characters of their names; characters of a kernel's description.
_NAMED, _NAME, _KERNEL = 3, 60, 300
#: Width of the scale of the AUC.
_WIDTH = 640
_KINDS = {"rows": "rows of numbers", "table": "tables", "images": "images"}
_DESIGN = {"groups": "Groups", "strata": "Strata", "paired": "Paired", "equal_groups": "Only equal groups"}


@dataclass(frozen=True, kw_only=True)
class SizeBlock(PictureBlock):
    """The AUC on a scale, and what it means."""

    scale: Markup
    sentences: tuple[str, ...]


def view_comparison(c: Comparison, command: str | None = None) -> View:
    """The blocks of the page, in the order in which they are read."""
    names = distinct_names(c.names)
    renderer = RowRenderer(c, names)
    pixels = pixels_block(c, c.alpha)
    return View.of(
        _headline(c, names, pixels),
        _noticed(c),
        _size(c, names),
        c.witness_figure(),
        c.null_figure(),
        families_table(c.families, c.min_pvalue),
        texts_block(c),
        pixels or columns_block(c, names),
        pairs_block(c, names),
        kinds_block(c, names, renderer),
        slices_block(c, names, renderer),
        examples_block(c, names, renderer),
        weights_block(c, names),
        *_method(c, names, command),
    )


def _headline(c: Comparison, names: tuple[str, str], pixels: PixelBlock | None) -> Headline:
    plain = next(block for block in c.view().blocks if isinstance(block, Headline))
    return replace(plain, explanation=_explanation(c), tiles=_tiles(c), points=_points(c, names, pixels))


def _noticed(c: Comparison) -> Notes | None:
    items = (*(notice.text for notice in c.noticed), *c.advice())
    return Notes(title="Noticed first", items=items) if items else None


def _explanation(c: Comparison) -> str:
    if c.learned is not None and len(c.learned.halves) > 1:
        p = p_sentence(c.pvalue, c.min_pvalue)
        return f"{p}, from both halves together. {interpret(c.reject(), c.alpha)}"
    return explain_pvalue(c, c.permuted_unit, c.alpha)


def _tiles(c: Comparison) -> tuple[Tile, ...]:
    low, high = c.auc_interval
    reach = "" if c.distance_interval is None else "95 %: {} to {}".format(*map(number, c.distance_interval))
    if c.learned is None:
        used = "drawn at random" if c.drawn else "all of them tested"
        rows = Tile("Rows", f"{len(c.x):,} + {len(c.y):,}", used)
    else:
        split = c.learned.split
        learned = f"learned from {len(split.train_x):,} + {len(split.train_y):,} others"
        rows = Tile("Rows tested", f"{len(split.test_x):,} + {len(split.test_y):,}", learned)
    return (
        pvalue_tile(c),
        Tile("Separability (AUC)", f"{c.auc:.3f}", f"95 %: {low:.3f} to {high:.3f}"),
        Tile(_capitalized(c.distance_name), number(c.distance), reach or "under the learned kernel"),
        rows,
    )


def _points(c: Comparison, names: tuple[str, str], pixels: PixelBlock | None) -> tuple[Point, ...]:
    """The overview, in the order of the page."""
    guess = (
        "Given one row of each sample, the function that was learned guesses which is which in "
        f"{percent(max(c.auc, 0.5))} of cases, where 50 % is guessing blindly"
    )
    strong = f"{_capitalized(c.separability_grade)} separable."
    if not c.reject():
        bound = f"{guess}; with 95 % confidence, in no more than {percent(c.auc_interval[1])}. {c.over_strata}"
        points = [Point(strong, bound.rstrip(), "size")]
        if c.columns:
            why = "No column is named where the whole test shows no difference."
            points.append(Point("Nothing is named.", why, "columns" if pixels is None else "pixels"))
        return tuple(points)
    points = [Point(strong, f"{guess}. {c.over_strata}".rstrip(), "size")]
    if c.columns:
        points.append(_columns_point(c, pixels))
    if pairs := c.differing_pairs():
        strong = _counted(len(pairs), "pair of columns differs", "pairs of columns differ")
        text = f"{_first(len(pairs))}{clip(pairs[0].name, _NAME)}: {pairs[0].description}."
        points.append(Point(strong, text, "pairs"))
    if kinds := c.differing_kinds():
        strong = _counted(len(kinds), "kind of rows differs in its share", "kinds of rows differ in their shares")
        text = f"{_first(len(kinds))}{clip(kinds[0].text, 2 * _NAME)}: {kinds[0].description}."
        points.append(Point(strong, text, "kinds"))
    if slices := c.differing_slices:
        strong = _counted(len(slices), "kind of rows is more frequent", "kinds of rows are more frequent")
        shares = f"{percent(slices[0].share_x)} of {names[0]}, {percent(slices[0].share_y)} of {names[1]}"
        text = f"{_first(len(slices))}{clip(slices[0].text, 2 * _NAME)}: {shares}."
        points.append(Point(f"{strong[:-1]} in one sample.", text, "slices"))
    if c.learned is not None and c.weights is not None:
        leading = ", ".join(f"{clip(name, _NAME)} ({weight:.2f})" for name, weight in c.weights.leading(_NAMED))
        points.append(Point("Largest weights.", f"{leading}.", "weights"))
    return tuple(points)


def _columns_point(c: Comparison, pixels: PixelBlock | None) -> Point:
    columns = c.differing_columns()
    what, anchor, found, total = "column", "columns", len(columns), len(c.columns)
    if pixels is not None:
        # As the map counts them: with those that never vary, and the colors of a pixel as one.
        what, anchor, found, total = "pixel", "pixels", pixels.named, pixels.height * pixels.width
    if not found:
        why = (
            f"The samples may differ in the dependence between {what}s, or in several {what}s whose individual "
            "evidence is too weak."
        )
        return Point(f"No single {what} is shown to differ.", why, anchor)
    if found == total:
        strong = f"The {what} differs." if total == 1 else f"All {total:,} {what}s differ."
    else:
        strong = f"{found:,} of {total:,} {what}s {'differs' if found == 1 else 'differ'}."
    if pixels is not None:
        return Point(strong, "The map shows where, and which sample is brighter there.", anchor)
    text = "; ".join(f"{clip(one.name, _NAME)}: {one.description}" for one in columns[:_NAMED])
    return Point(strong, f"{text}{'; …' if found > _NAMED else '.'}", anchor)


def _size(c: Comparison, names: tuple[str, str]) -> SizeBlock:
    low, high = c.auc_interval
    guess = (
        f"Take one row of {names[0]} and one of {names[1]}: by how each row looks you would guess which is which in "
        f"{percent(max(c.auc, 0.5))} of cases. Guessing blindly gives 50 %. That proportion is the AUC; with 95 % "
        f"confidence it lies between {percent(low)} and {percent(high)}."
    )
    if c.reject():
        matters = (
            "Significant is not the same as large: with enough rows every difference becomes significant, even one "
            "that does not matter. Whether this one does is for you to decide, by the numbers here and by what differs "
            "below."
        )
    else:
        matters = (
            "Not finding a difference does not prove that there is none. By what was learned here the samples are told "
            f"apart in no more than {percent(high)} of cases, with 95 % confidence. A smaller difference, or one of "
            "another kind, may still show with more rows."
        )
    return SizeBlock(
        section="How much do they differ, and does it matter?",
        template="size.html",
        anchor="size",
        link="How much",
        scale=auc_scale(c),
        sentences=(guess, *([c.over_strata] if c.over_strata else []), matters),
    )


def auc_scale(c: Comparison) -> Markup:
    """The AUC with its interval on a scale from "not at all" to "entirely"."""

    def across(auc: float) -> float:
        return 8 + (min(max(auc, 0.5), 1.0) - 0.5) * 2 * (_WIDTH - 16)

    low, high = c.auc_interval
    marks, start = [], 0.5
    for limit, word in GRADES:
        end = min(limit, 1.0)
        x, chosen = across(start), " chosen" if c.reject() and start <= max(c.auc, 0.5) < limit else ""
        marks.append(tag("rect", x=x, y=38, width=across(end) - x - 2, height=14, rx=3, class_=f"grade{chosen}"))
        place = (x + across(end)) / 2
        marks.append(tag("text", word, x=place, y=73, text_anchor="middle", class_=f"grade{chosen}"))
        start = end
    for value in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        anchor = "start" if value <= 0.5 else "end" if value >= 1.0 else "middle"
        marks.append(tag("text", f"{value:g}", x=across(value), y=98, text_anchor=anchor))
    marks.append(tag("line", x1=across(low), x2=across(high), y1=45, y2=45, class_="interval"))
    marks += [tag("line", x1=across(end), x2=across(end), y1=38, y2=52, class_="interval") for end in (low, high)]
    marks.append(tag("circle", cx=across(c.auc), cy=45, r=6.5, class_="estimate"))
    label = f"AUC {c.auc:.3f}, 95 % interval {low:.3f} to {high:.3f}"
    # Above the estimate, but inside the drawing.
    place = across(c.auc)
    sides = {-1: ("start", 2.0), 0: ("middle", _WIDTH / 2), 1: ("end", _WIDTH - 2.0)}
    anchor, x = sides[(place > _WIDTH / 2 + 100) - (place < _WIDTH / 2 - 100)]
    marks.append(tag("text", label, x=x, y=24, text_anchor=anchor, class_="estimate"))
    return tag("svg", *marks, viewBox=f"0 0 {_WIDTH} 104", role="img", aria_label=label, class_="plot scale")


def _method(c: Comparison, names: tuple[str, str], command: str | None) -> list[Block | None]:
    figure = None if c.learned is None else learning_figure(c.learned.history)
    title = "How was it computed, and how can it be repeated?"
    settings = Facts(title="Settings", items=_settings(c, names), detail=Detail.PAGE)
    first = replace(figure or settings, section=title, link="Method", lead=_method_lead(c))
    return [
        first,
        None if figure is None else settings,
        Notes(title="Notes", items=c.notes) if c.notes else None,
        Command(title="Repeat it", text=command or _call(c), language="shell" if command else "python"),
    ]


def _method_lead(c: Comparison) -> str:
    if c.learned is not None:
        return (
            "A kernel, which measures how similar two rows are, was learned on one part of the rows so that it tells "
            "the samples apart. On the other part the distance under this kernel was compared with its distance after "
            f"random permutations of the {c.permuted_unit}."
        )
    return (
        "The test uses every row and has no settings to choose. It looks at all columns jointly (kernels at several "
        "bandwidths), one by one, in pairs and, if there are many, by principal components; the same is done for "
        f"random permutations of the {c.permuted_unit}. The p-value is the proportion of permutations that look at "
        "least as different as the observed samples, exact at every sample size. The AUC comes from a witness "
        "function at every row that was learned from other rows. A column's adjusted p-value compares it with the "
        "most different of all columns under each permutation, so that they hold jointly."
    )


def _settings(c: Comparison, names: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    s = c.settings
    sources = zip(names, s.origins, s.rows, strict=True)
    exact = "exact at every sample size" if c.test.exact else "valid for large samples"
    return (
        *((name, f"{origin or 'given in memory'}, {count:,} rows") for name, origin, count in sources),
        ("Kind", _KINDS.get(s.kind, s.kind)),
        *_learning(c),
        ("Statistic", c.statistic_name),
        ("Null distribution", f"{s.null} of {c.permuted_unit}, {s.permutations:,} draws, {exact}"),
        *((_DESIGN[name], "yes" if value is True else str(value)) for name, value in s.design.items()),
        ("Level", f"{c.alpha:g}"),
        ("Seed", str(s.seed)),
        ("Time", f"{c.seconds:.1f} s"),
        ("Versions", ", ".join(f"{name} {text}" for name, text in s.versions.items())),
    )


def _learning(c: Comparison) -> list[tuple[str, str]]:
    if c.learned is None:
        return [("Test", "automatic, on every row")]
    s, split = c.settings, c.learned.split
    share = "rows that were given" if s.train_size is None else f"{s.train_size:g} of the rows"
    combined = f", both halves, p-values combined by {c.learned.combination}" if c.learned.combination else ""
    return [
        ("Learned from", f"{share}: {len(split.train_x):,} + {len(split.train_y):,}{combined}"),
        ("Tested on", f"{len(split.test_x):,} + {len(split.test_y):,} other rows"),
        ("Kernel", f"{s.test}, learned: {clip(' '.join(repr(c.kernel).split()), _KERNEL)}"),
        ("Criterion", str(s.criterion)),
    ]


def _call(c: Comparison) -> str:
    """A call in Python that repeats the comparison; an ellipsis stands for what only its author has."""
    s = c.settings
    x, y = (repr(origin) if origin else name for origin, name in zip(s.origins, ("X", "Y"), strict=True))
    options = {"test": repr(s.test) if s.test in ("auto", *NAMES) else "…"}
    if c.learned is not None:
        size = "…" if s.train_size is None else repr(s.train_size)
        options |= {"criterion": repr(s.criterion), "train_size": size}
        options |= {"cross_fit": "True"} if s.cross_fit else {}
        options |= {"null": repr(s.null)}
    options |= {
        "alpha": repr(c.alpha),
        "permutations": str(s.permutations),
        **({"keep_columns": repr(list(s.keep_columns))} if s.keep_columns else {}),
        **{name: value if value == "…" else repr(value) for name, value in s.design.items()},
        **{name: "…" if name == "features" else repr(value) for name, value in s.reading.to_dict().items()},
        "rng": str(s.seed),
    }
    arguments = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"import tellapart as ta\n\nta.compare({x}, {y}, {arguments})"


def _capitalized(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _counted(count: int, one: str, many: str) -> str:
    return f"One {one}." if count == 1 else f"{count:,} {many}."


def _first(count: int) -> str:
    return "" if count == 1 else "The first: "
