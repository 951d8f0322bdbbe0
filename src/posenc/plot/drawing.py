"""`draw`: a view on a page."""

import warnings

from matplotlib import rc_context
from matplotlib.axes import Axes

from posenc.core import rules
from posenc.i18n import Language, translator
from posenc.i18n.terminal import wrap
from posenc.plot import fonts
from posenc.plot.images import draw_cells, draw_colour_bar, place_image
from posenc.plot.labels import Labels, Ruler, Title
from posenc.plot.layout import (
    count_columns,
    is_square,
    page_width,
    parse_size,
    row_heights,
    smallest_size,
)
from posenc.plot.lines import draw_dials, draw_lines
from posenc.plot.page import Page
from posenc.views import Dials, Image, Lines, Panel, View


def draw(
    view: View, *, lang: Language = "en", dark: bool = False, size: object = None, dpi: float = 150
) -> Page:
    """Draw a view.

    view  what `posenc.views.view` returns
    lang  language of the view's texts, which decides whose Han glyphs are used
    dark  whether the page is dark
    size  inches, as (8, 4.5) or "8x4.5"; None: as the panels need
    dpi   pixels per inch

    Tokens that no installed font can show are replaced by their positions instead of boxes, and
    the notes of the page say what is missing.
    """
    rules.flag("dark", dark)
    rules.real("dpi", dpi, least=10, most=2400)
    lacking = missing_glyphs(lang)
    t = translator("en" if lacking else lang)
    texts = _collect_texts(view) + t(
        "1:{ratio}, averaged; the band is from least to largest", ratio=2
    )
    letters = fonts.Lettering(fonts.families(lang, texts))
    heights = row_heights(view)
    own = (page_width(view), sum(heights) + 0.15 * len(heights) + 0.5 + 0.2 * len(view.notes))
    width, height = parse_size(size, smallest_size(view, own)) or own
    # square cells leave space beside them, which "compressed" removes
    engine = "compressed" if any(map(is_square, view.panels)) else "constrained"
    scale = max(0.6, min(1.0, width / own[0], height / own[1]))
    options = {"figsize": (width, height), "dpi": dpi, "layout": engine}
    page = Page(view, letters, t, dark=dark, scale=scale, **options)
    with rc_context(page.settings):
        placed, texts = _place(page, heights, (width / count_columns(view), height / own[1]))
        _write_frame(page, width)
        _lay_out(page, own, Ruler(page), texts)  # pixels can be counted from here on
        for axes, panel in placed:
            if isinstance(panel, Image):
                draw_cells(page, axes, panel)
    letters.missing |= lacking
    page.notes = tuple(letters.notes(translator(lang)))
    return page


def _lay_out(
    page: Page, own: tuple[float, float], ruler: Ruler, texts: list[tuple[Labels | Title, float]]
) -> None:
    """Place all panels, labels and titles.

    The room for labels and titles is known only when panels are placed, and what they take of it
    moves the panels: so it is guessed first, then measured.
    """
    for text, guess in texts:
        text.arrange(ruler, guess * page.dpi)
    _lay_out_once(page, own)
    changed = [text.arrange(ruler) for text, _ in texts]
    if any(changed):
        _lay_out_once(page, own)
        for text, _ in texts:
            text.arrange(ruler, final=True)
    page.set_layout_engine("none")  # not again when the page is drawn


def _lay_out_once(page: Page, own: tuple[float, float]) -> None:
    """Lay the page out; raise an error where matplotlib would only warn that it is too small."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied")
        try:
            page.lay_out()
        except UserWarning:
            width, height = page.get_size_inches()
            raise ValueError(
                f"size must leave room for what is shown, such as {own[0]:.0f}x{own[1]:.0f}; "
                f"got {width:g}x{height:g}"
            ) from None


def missing_glyphs(lang: Language) -> set[str]:
    """Return the characters of a language that no installed font has; then English is used."""
    t = translator(lang)
    sample = t("position") + t("dimension")
    letters = fonts.Lettering(fonts.families(lang, sample))
    letters.can_show(sample)
    return letters.missing


def _collect_texts(view: View) -> str:
    """Return all texts of the page, which decide what fonts are needed, and whose Han glyphs."""
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
    page: Page, heights: list[float], room: tuple[float, float]
) -> tuple[list[tuple[Axes, Panel]], list[tuple[Labels | Title, float]]]:
    """Add axes for every panel, and labels and titles with a guess of their room in inches.

    room  the width of a column in inches, and the height of the page relative to its own
    """
    columns = count_columns(page.view)
    grid = page.add_gridspec(len(heights), columns, height_ratios=heights)
    placed: list[tuple[Axes, Panel]] = []
    texts: list[tuple[Labels | Title, float]] = []
    for number, panel in enumerate(page.view.panels):
        row, column = divmod(number, columns)
        axes = page.add_subplot(grid[row, column])
        space = room[0] - 1, max(0.5, heights[row] * room[1] - 0.8)
        labels: list[Labels] = []
        if isinstance(panel, Image):
            labels = place_image(page, axes, panel, space)
        elif isinstance(panel, Lines):
            labels = draw_lines(page, axes, panel, space)
        else:
            draw_dials(page, axes, panel)
        guess = max(0.5, min(space) if is_square(panel) else space[0])
        texts += [(one, guess) for one in labels]
        if not _is_titled_by_page(page.view):
            pad = 14 if isinstance(panel, Dials) else None
            texts.append((Title(axes, panel.title, page.letters, pad=pad), guess))
        placed.append((axes, panel))
    _draw_colour_bars(page, placed)
    return placed, texts


def _draw_colour_bars(page: Page, placed: list[tuple[Axes, Panel]]) -> None:
    """Draw a colour bar for all images that share a scale and form a block, else one for each."""
    columns = count_columns(page.view)
    groups: dict[object, list[tuple[int, Axes, Image]]] = {}
    for number, (axes, panel) in enumerate(placed):
        if isinstance(panel, Image):
            scale = panel.colours, panel.limit, panel.unit
            groups.setdefault(scale, []).append((number, axes, panel))
    for group in groups.values():
        rows, across = {n // columns for n, *_ in group}, {n % columns for n, *_ in group}
        whole = len(group) in (len(placed), len(rows) * len(across))
        shrink = 0.6 if whole and len(rows) > 2 else 1.0
        for block in [group] if whole else [[one] for one in group]:
            draw_colour_bar(page, block[0][2], [axes for _, axes, _ in block], shrink)


def _is_titled_by_page(view: View) -> bool:
    """Return whether the title of the page already names its only panel."""
    return len(view.panels) == 1 and view.title.startswith(view.panels[0].title)


def _write_frame(page: Page, width: float) -> None:
    """Write the title and the notes."""
    view, letters = page.view, page.letters
    page.suptitle(letters.text("\n".join(wrap(view.title, int(11 * width)))), x=0.01, ha="left")
    if view.notes:
        notes = "\n".join(line for note in view.notes for line in wrap(note, int(15 * width)))
        page.supxlabel(letters.text(notes), fontsize="small", x=0.01, ha="left")
