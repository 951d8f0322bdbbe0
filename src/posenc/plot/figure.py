"""`posenc.show`: builds a view and draws it."""

from collections.abc import Sequence

from posenc.core.encoding import Params
from posenc.core.hints import hinted
from posenc.i18n import Language, language
from posenc.plot.drawing import draw, missing_glyphs
from posenc.plot.page import Page
from posenc.views import view
from posenc.views.kinds import KindName


@hinted("show")
def show(
    what: object,
    kind: KindName | None = None,
    *,
    tokens: str | Sequence[str] | None = None,
    length: int | None = None,
    dim: int | None = None,
    heads: int | None = None,
    channels: Sequence[int] | None = None,
    head: int | None = None,
    causal: bool | None = None,
    trained: int | None = None,
    params: Params = None,
    seed: int = 0,
    lang: Language = "en",
    dark: bool = False,
    size: object = None,
    dpi: float = 150,
) -> Page:
    """Draw encodings: a figure that notebooks display and `savefig` writes as PNG, SVG or PDF.

    what       an Encoding, a name, an expression such as "RoPE(64, base=5e5)", the path of a
               config.json, or a list of those to draw side by side
    kind       one of `posenc.views.KINDS`, such as "heatmap"; None: the one that suits best
    tokens     a sentence, or a list of tokens; None: unnamed positions
    length     number of positions if there are no tokens; on a grid, of rows and of columns
    dim        channels, for encodings given by name
    heads      attention heads, for encodings given by name
    channels   dimensions, pairs or heads to draw, counted from 0; None: those that fit
    head       the head of a bias or of attention to draw, counted from 0
    causal     whether attention is masked; None: as the encodings are meant
    trained    length of text in training, to be marked
    params     learned parameters of a single encoding; None: drawn with `seed`
    seed       draws parameters, queries and keys
    lang       en, ja, zh-Hans or zh-Hant, the language of titles, labels and notes
    dark       dark background
    size       inches, as (8, 4.5) or "8x4.5"; None: as the panels need
    dpi        pixels per inch

    >>> import posenc as pe
    >>> figure = pe.show(pe.RoPE(64), "decay", length=100)
    >>> figure.view.panels[0].title, figure.view.panels[1].title
    ('equal q and k', "RoFormer's bound (eq. 37)")
    """
    lang = language(lang)
    shown = view(
        what,
        kind,
        tokens=tokens,
        length=length,
        dim=dim,
        heads=heads,
        channels=channels,
        head=head,
        causal=causal,
        trained=trained,
        params=params,
        seed=seed,
        lang="en" if missing_glyphs(lang) else lang,
    )
    return draw(shown, lang=lang, dark=dark, size=size, dpi=dpi)
