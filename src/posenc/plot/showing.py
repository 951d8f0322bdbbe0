"""`posenc.show`: a view made and drawn."""

from collections.abc import Sequence
from typing import Any

from posenc.core.hints import hinted
from posenc.core.mechanisms import Params
from posenc.i18n import language
from posenc.plot.drawing import draw, unwritable
from posenc.plot.page import Page
from posenc.views import view


@hinted("show")
def show(
    what: Any,
    kind: str | None = None,
    *,
    tokens: str | Sequence[str] | None = None,
    length: int | None = None,
    dim: int | None = None,
    heads: int | None = None,
    channels: Sequence[int] | None = None,
    head: int | None = None,
    causal: bool | None = None,
    trained: int | None = None,
    params: Params | None = None,
    seed: int = 0,
    lang: str = "en",
    dark: bool = False,
    size: Any = None,
    dpi: float = 150,
) -> Page:
    """A figure of encodings: notebooks show it, and `savefig` writes PNG, SVG or PDF.

    `what` is an Encoding, a name, an expression such as "RoPE(64, base=5e5)", the path of a
    config.json, or a list of those side by side. `kind` is one of `posenc.views.KINDS`: heatmap,
    waves, wavelengths, similarity, products, rotation, decay, bias, scalings, maps, learned, sum,
    attention; unless given, the one that suits. The rest is that of `posenc.views.view`, and the
    page's: its size in inches, as (8, 4.5) or "8x4.5".

    >>> import posenc as pe
    >>> figure = pe.show(pe.RoPE(64), "decay", length=100)
    >>> figure.view.panels[0].title, figure.view.panels[1].title
    ('equal q and k', "RoFormer's bound (eq. 37)")
    """
    lang = language(lang)
    made = view(
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
        lang="en" if unwritable(lang) else lang,
    )
    return draw(made, lang=lang, dark=dark, size=size, dpi=dpi)
