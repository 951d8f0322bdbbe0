"""`view`: what is asked for is checked, and a view of its kind is made."""

from collections.abc import Sequence
from typing import Any

from posenc.core import rules
from posenc.core.hints import hinted
from posenc.core.mechanisms import Encoding, Params
from posenc.i18n import translator
from posenc.views.gathering import gathered
from posenc.views.kind import is_plain
from posenc.views.kinds import KINDS, default_kind, kinds_for, suiting
from posenc.views.panels import View
from posenc.views.scene import Scene, checked_tokens


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
    if words is not None and length not in (None, len(words)) and not KINDS[kind].own_length:
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
    return KINDS[kind].build(scene)


def _checked_channels(channels: Sequence[int] | None, kind: str) -> tuple[int, ...] | None:
    if channels is None:
        return None
    if not KINDS[kind].channels:
        raise ValueError(
            f"channels must be left out for kind {kind!r}, which shows all; "
            f"{_taking('channels')} take them"
        )
    chosen = tuple(rules.whole("each of channels", channel) for channel in channels)
    if not chosen:
        raise ValueError("channels must not be empty; leave them out to see a few")
    return chosen


def _checked_head(head: int | None, kind: str) -> int | None:
    if head is None:
        return None
    if not KINDS[kind].head:
        raise ValueError(f"head must be left out for kind {kind!r}; {_taking('head')} take it")
    return rules.whole("head", head, least=0)


def _checked_causal(causal: bool | None, kind: str) -> bool | None:
    if causal is None:
        return None
    if not KINDS[kind].causal:
        raise ValueError(f"causal must be left out for kind {kind!r}; {_taking('causal')} takes it")
    rules.flag("causal", causal)
    return causal


def _taking(option: str) -> str:
    """The kinds that take an option."""
    return ", ".join(name for name, kind in KINDS.items() if getattr(kind, option))


def _check(kind: str, encodings: Sequence[Encoding], words: Sequence[str] | None) -> None:
    """Say that the kind must be one that suits them all."""
    suitable = kinds_for(*encodings)
    for encoding in encodings:
        if words is not None and not is_plain(encoding):
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
