"""A view drawn on a page."""

import warnings
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes

from posenc.core import rules
from posenc.i18n import Translate, translator
from posenc.plot import fonts
from posenc.plot.images import colour_bar, fill, place
from posenc.plot.labels import Labels, Ruler, Title
from posenc.plot.layout import columns_of, given_size, heights_of, least_of, width_of
from posenc.plot.lines import draw_dials, draw_lines
from posenc.plot.page import Page, style
from posenc.views import Dials, Image, Lines, View


def draw(
    view: View, *, lang: str = "en", dark: bool = False, size: Any = None, dpi: float = 150
) -> Page:
    """The view on a page.

    A token that no font on this machine can show is not drawn as boxes: its position stands for
    it, and the page's notes say what is missing.
    """
    rules.flag("dark", dark)
    rules.real("dpi", dpi, least=10, most=2400)
    lacking = unwritable(lang)
    t = translator("en" if lacking else lang)
    texts = _texts(view) + t("1:{ratio}, averaged; the band is from least to largest", ratio=2)
    letters = fonts.Lettering(fonts.families(lang, texts))
    heights = heights_of(view)
    own = (width_of(view), sum(heights) + 0.15 * len(heights) + 0.5 + 0.2 * len(view.notes))
    width, height = given_size(size, least_of(view, own)) or own
    scale = max(0.6, min(1.0, width / own[0], height / own[1]))
    settings = style(letters.fonts, dark=dark, scale=scale)
    with rc_context(settings):
        # squares leave room beside them, which "compressed" takes away
        squares = any(isinstance(panel, Image) and panel.square for panel in view.panels)
        engine = "compressed" if squares else "constrained"
        page = Page(settings, figsize=(width, height), dpi=dpi, layout=engine)
        page.view = view
        room = width / columns_of(view), height / own[1]
        placed, texts = _place(page, heights, room, letters, t, dark=dark)
        _frame(page, width, letters)
        ruler = Ruler(page, letters.fonts, settings["xtick.labelsize"], settings["axes.titlesize"])
        _lay_out(page, own, ruler, texts)  # now pixels can be counted
        for axes, panel in placed:
            if isinstance(panel, Image):
                fill(axes, panel, letters, t, dark=dark)
    letters.missing |= lacking
    page.notes = tuple(letters.notes(translator(lang)))
    return page


def _lay_out(
    page: Page,
    own: tuple[float, float],
    ruler: Ruler,
    texts: list[tuple[Labels | Title, float]],
) -> None:
    """Find every panel its place; what has none is a sentence, where matplotlib would warn.

    How much room labels and titles have is known when all is placed, and what they take of it
    moves the rest: first by a guess, then as measured.
    """
    for text, guess in texts:
        text.arrange(ruler, guess * page.dpi)
    _find_places(page, own)
    news = [text.arrange(ruler) for text, _ in texts]
    if any(news):
        _find_places(page, own)
        for text, _ in texts:
            text.arrange(ruler, settled=True)
    page.set_layout_engine("none")  # once is enough, and quicker


def _find_places(page: Page, own: tuple[float, float]) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied")
        try:
            page.find_places()
        except UserWarning:
            width, height = page.get_size_inches()
            raise ValueError(
                f"size must leave room for what is shown, such as {own[0]:.0f}x{own[1]:.0f}; "
                f"got {width:g}x{height:g}"
            ) from None


def unwritable(lang: str) -> set[str]:
    """Characters of a language that no font here has: its readers get English, and a note."""
    t = translator(lang)
    sample = t("position") + t("dimension")
    letters = fonts.Lettering(fonts.families(lang, sample))
    letters.shown(sample)
    return letters.missing


def _texts(view: View) -> str:
    """Every text on the page: it tells which fonts are needed, and whose Han characters."""
    found = [view.title, *view.notes]
    for panel in view.panels:
        found.append(panel.title)
        match panel:
            case Image():
                axes = (panel.rows, panel.columns)
                found.append(panel.unit)
            case Lines():
                axes = (panel.x_axis, panel.y_axis)
                found += [item.name for item in (*panel.lines, *panel.marks)]
            case _:
                axes = ()
                found += [*panel.names, *panel.labels]
        for axis in axes:
            found += [axis.name, *(axis.labels or ())]
    return "".join(found)


def _place(
    page: Page,
    heights: list[float],
    room: tuple[float, float],
    letters: fonts.Lettering,
    t: Translate,
    *,
    dark: bool,
) -> tuple[list[tuple[Axes, Any]], list[tuple[Labels | Title, float]]]:
    """Axes for every panel; `room` is the width of a column and how much taller than own.

    Also the labels and titles, each with a guess at the inches that it has.
    """
    columns = columns_of(page.view)
    grid = page.add_gridspec(len(heights), columns, height_ratios=heights)
    placed: list[tuple[Axes, Any]] = []
    texts: list[tuple[Labels | Title, float]] = []
    for number, panel in enumerate(page.view.panels):
        row, column = divmod(number, columns)
        axes = page.add_subplot(grid[row, column])
        space = room[0] - 1, max(0.5, heights[row] * room[1] - 0.8)
        labels: list[Labels] = []
        if isinstance(panel, Image):
            labels = place(axes, panel, letters, space)
        elif isinstance(panel, Lines):
            labels = draw_lines(axes, panel, letters, space, t, dark=dark)
        else:
            draw_dials(axes, panel, letters, dark=dark)
        square = isinstance(panel, Image) and panel.square
        guess = max(0.5, min(space) if square else space[0])
        texts += [(one, guess) for one in labels]
        if not _titled(page.view):
            texts.append(
                (
                    Title(axes, panel.title, letters, pad=14 if isinstance(panel, Dials) else None),
                    guess,
                )
            )
        placed.append((axes, panel))
    _scales(page, placed, letters, dark=dark)
    return placed, texts


def _scales(
    page: Page, placed: list[tuple[Axes, Any]], letters: fonts.Lettering, *, dark: bool
) -> None:
    """A scale for all images that share it and form a block of the page, else one for each."""
    columns = columns_of(page.view)
    groups: dict[Any, list[int]] = {}
    for number, (_, panel) in enumerate(placed):
        if isinstance(panel, Image):
            groups.setdefault((panel.colours, panel.limit, panel.unit), []).append(number)
    for numbers in groups.values():
        rows, across = {n // columns for n in numbers}, {n % columns for n in numbers}
        whole = len(numbers) in (len(placed), len(rows) * len(across))
        for block in [numbers] if whole else [[number] for number in numbers]:
            shrink = 1.0 if len({n // columns for n in block}) < 3 else 0.6
            axes = [placed[n][0] for n in block]
            colour_bar(page, placed[block[0]][1], axes, letters, shrink, dark=dark)


def _titled(view: View) -> bool:
    """Whether the page's title names its only panel."""
    return len(view.panels) == 1 and view.title.startswith(view.panels[0].title)


def _frame(page: Page, width: float, letters: fonts.Lettering) -> None:
    """The title and the notes."""
    view = page.view
    title = fonts.wrapped(view.title, int(11 * width))
    page.suptitle(letters.text(title), x=0.01, ha="left")
    if view.notes:
        notes = "\n".join(fonts.wrapped(note, int(15 * width)) for note in view.notes)
        page.supxlabel(letters.text(notes), fontsize="small", x=0.01, ha="left")
