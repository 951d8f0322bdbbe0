"""The kinds of view by name, what each suits, and `view`, which makes one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from posenc.core import rules
from posenc.core.hints import hinted
from posenc.core.mechanisms import Additive, Bias, Encoding, Params, Rotary
from posenc.encodings import BUILTIN
from posenc.i18n import later, translator
from posenc.names.resolve import example
from posenc.temperatures import Tempered
from posenc.views.addition import addition
from posenc.views.attention import attention
from posenc.views.bias import bias
from posenc.views.decay import decay
from posenc.views.gathering import gathered
from posenc.views.heatmap import heatmap, waves
from posenc.views.learned import is_learned, learned
from posenc.views.maps import maps
from posenc.views.panels import View, coloured
from posenc.views.products import products
from posenc.views.rotation import rotation
from posenc.views.scaling import scalings
from posenc.views.scene import Scene, checked_tokens
from posenc.views.similarity import similarity
from posenc.views.wavelengths import has_waves, wavelengths


@dataclass(frozen=True)
class Kind:
    """A kind of view: the function that makes it, which encodings it suits, what it shows."""

    make: Callable[[Scene], View]
    suits: Callable[[Encoding], bool]
    about: str
    channels: bool = False
    """Whether a reader may choose its dimensions, pairs or heads."""
    heads: bool = False
    """Whether a reader may choose the head that is looked at."""


def _plain(encoding: Encoding) -> bool:
    return encoding.axes in (None, 1)


def _rows(encoding: Encoding) -> bool:
    return isinstance(encoding, Additive | Rotary)


KINDS: dict[str, Kind] = {
    "heatmap": Kind(
        heatmap, lambda e: _rows(e) and _plain(e), later("values by position and dimension"), True
    ),
    "waves": Kind(waves, lambda e: _rows(e) and _plain(e), later("waves"), True),
    "wavelengths": Kind(wavelengths, has_waves, later("wavelengths")),
    "similarity": Kind(similarity, _rows, later("similarity of positions")),
    "products": Kind(products, lambda e: _rows(e) and _plain(e), later("relative dot products")),
    "rotation": Kind(
        rotation, lambda e: isinstance(e, Rotary) and _plain(e), later("rotation of pairs"), True
    ),
    "decay": Kind(decay, lambda e: isinstance(e, Rotary) and _plain(e), later("long-range decay")),
    "bias": Kind(bias, lambda e: isinstance(e, Bias), later("bias by distance"), True, True),
    "scalings": Kind(scalings, lambda e: hasattr(e, "scaling"), later("scalings")),
    "maps": Kind(
        maps, lambda e: _rows(e) and (e.axes or 1) > 1, later("channels over a picture"), True
    ),
    "learned": Kind(
        learned, lambda e: is_learned(e) and _plain(e), later("learned and sinusoidal")
    ),
    "sum": Kind(
        addition,
        lambda e: isinstance(e, Additive) and _plain(e),
        later("embedding + encoding = input"),
    ),
    "attention": Kind(attention, _plain, later("attention"), True, True),
}


def kinds_for(*encodings: Encoding) -> list[str]:
    """The kinds that suit all of these.

    >>> from posenc import ALiBi
    >>> kinds_for(ALiBi(8))
    ['bias', 'attention']
    """
    acting = [e.encoding if isinstance(e, Tempered) else e for e in encodings]
    return [name for name, kind in KINDS.items() if all(map(kind.suits, acting))]


def suiting(kind: str) -> str:
    """The name of the first encoding of ours that this kind suits.

    >>> suiting("rotation"), suiting("maps"), suiting("attention")
    ('rope', 'axial-sinusoidal', 'sinusoidal')
    """
    return next(name for name, one in BUILTIN if kind in kinds_for(example(one)))


def default_kind(*encodings: Encoding) -> str:
    """What is shown of these unless something else is asked for.

    What is added as a heatmap, what is rotated as rotation, a bias by distance, on a grid as maps;
    scores, and what has no other kind in common, as attention.
    """
    first = encodings[0]
    wanted = (
        ("maps" if not _plain(first) and _rows(first) else "")
        or ("heatmap" if isinstance(first, Additive) else "")
        or ("rotation" if isinstance(first, Rotary) else "")
        or ("bias" if isinstance(first, Bias) else "attention")
    )
    suitable = kinds_for(*encodings)
    return wanted if wanted in suitable or not suitable else suitable[-1]


@hinted("view")
def view(
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
) -> View:
    """A view of encodings: of one, or of several side by side.

    `what` is an Encoding, a name or an expression, the path of a config.json, or a list of those.
    `tokens` is a sentence, or tokens; else there are `length` positions (on a grid, length x
    length). `channels` are the dimensions, pairs or heads to show, the first is 0; `dim` and
    `heads` are for names; `trained` is the length of training, to be marked. `head`, from 0, is the
    one that is looked at, of a bias or of attention; `causal` says whether attention sees no keys
    ahead, with and without positions (None: what the encodings are meant for). Parameters are drawn
    with `seed`, unless given.

    >>> view("rope", tokens="犬 が 人 を 噛む").kind
    'rotation'
    """
    t = translator(lang)
    words = checked_tokens(tokens)
    if length is not None:
        rules.whole("length", length, least=1, most=2**24)
    sizes = {} if dim is None else {"dim": rules.dim("dim", dim)}
    sizes |= {} if heads is None else {"heads": rules.whole("heads", heads, least=1)}
    long = len(words) if words else length
    sizes |= {} if long is None else {"length": long}
    if trained is not None:
        rules.whole("trained", trained, least=1)
    subjects = gathered(what, params=params, seed=seed, trained=trained, **sizes)
    encodings = [subject.encoding for subject in subjects]
    kind = kind or default_kind(*encodings)
    _check(kind, encodings, words)
    if words is not None and length not in (None, len(words)) and kind != "decay":
        raise ValueError(
            f"length must be left out where there are tokens, {len(words)} of them; "
            f"got length={length}"
        )
    scene = Scene(
        subjects,
        t,
        words,
        length,
        _checked_channels(channels, kind),
        seed,
        head=_checked_head(head, kind),
        causal=_checked_causal(causal, kind),
        drawn=params is None and any(subject.params for subject in subjects),
    )
    made = KINDS[kind].make(scene)
    return replace(made, panels=coloured(made.panels))


def _checked_channels(channels: Sequence[int] | None, kind: str) -> tuple[int, ...] | None:
    if channels is None:
        return None
    if not KINDS[kind].channels:
        choosing = ", ".join(name for name, one in KINDS.items() if one.channels)
        raise ValueError(
            f"channels must be left out for kind {kind!r}, which shows all; {choosing} take them"
        )
    chosen = tuple(rules.whole("each of channels", channel) for channel in channels)
    if not chosen:
        raise ValueError("channels must not be empty; leave them out to see a few")
    return chosen


def _checked_head(head: int | None, kind: str) -> int | None:
    if head is None:
        return None
    if not KINDS[kind].heads:
        having = ", ".join(name for name, one in KINDS.items() if one.heads)
        raise ValueError(f"head must be left out for kind {kind!r}; {having} take it")
    return rules.whole("head", head, least=0)


def _checked_causal(causal: bool | None, kind: str) -> bool | None:
    if causal is None:
        return None
    if kind != "attention":
        raise ValueError(f"causal must be left out for kind {kind!r}; attention takes it")
    rules.flag("causal", causal)
    return causal


def _check(kind: str, encodings: Sequence[Encoding], words: Sequence[str] | None) -> None:
    """Say that the kind must be one that suits them all."""
    suitable = kinds_for(*encodings)
    for encoding in encodings:
        if words is not None and not _plain(encoding):
            raise ValueError(
                f"tokens must be left out for {type(encoding).__name__}, whose positions have "
                f"{encoding.axes} axes: it does not encode the tokens of a sentence one by one"
            )
    if kind not in suitable:
        names = " and ".join(dict.fromkeys(type(encoding).__name__ for encoding in encodings))
        choices = ", ".join(suitable) or "none"
        suited = f", which suits {suiting(kind)}" if kind in KINDS else ""
        raise ValueError(
            f"kind must be one that suits {names} ({choices}); got kind={kind!r}{suited}"
        )
