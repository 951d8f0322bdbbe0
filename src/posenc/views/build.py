"""`view`: checks a request and builds the view."""

from collections.abc import Sequence

from posenc.core import rules
from posenc.core.encoding import Encoding, Params
from posenc.core.hints import hinted
from posenc.i18n import translator
from posenc.views.kind import is_plain
from posenc.views.kinds import KINDS, default_kind, first_encoding_for, kinds_for
from posenc.views.panels import View
from posenc.views.scene import Scene, parse_tokens
from posenc.views.subjects import gather_subjects


@hinted("view")
def view(
    what: object,
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
    params: Params = None,
    seed: int = 0,
    lang: str = "en",
) -> View:
    """Build a view of one encoding, or of several side by side.

    what      an Encoding, a name, an expression, the path of a config.json, or a list of those
    kind      one of `posenc.views.KINDS`; None: the one that suits best
    tokens    a sentence, or a list of tokens
    length    number of positions without tokens; on a grid, of rows and of columns
    dim       channels, for encodings given by name
    heads     heads, for encodings given by name
    channels  dimensions, pairs or heads to show, counted from 0
    head      head of a bias or of attention to look at, counted from 0
    causal    whether attention is masked, with and without positions; None: as the encodings are
              meant
    trained   length of training, to be marked
    params    parameters of a single encoding; None: drawn with `seed`
    lang      language of titles, labels and notes

    >>> view("rope", tokens="犬 が 人 を 噛む").kind
    'rotation'
    """
    t = translator(lang)
    words = parse_tokens(tokens)
    if length is not None:
        rules.whole("length", length, least=1, most=2**24)
    if trained is not None:
        rules.whole("trained", trained, least=1)
    sizes = {} if dim is None else {"dim": rules.dim("dim", dim)}
    sizes |= {} if heads is None else {"heads": rules.whole("heads", heads, least=1)}
    sizes |= {"length": len(words) if words else length or 0}
    subjects = gather_subjects(what, params=params, seed=seed, trained=trained, **sizes)
    encodings = [subject.encoding for subject in subjects]
    kind = kind or default_kind(*encodings)
    _check_kind(kind, encodings, words)
    if words is not None and length not in (None, len(words)) and not KINDS[kind].own_length:
        raise ValueError(
            f"length must be left out if tokens are given, {len(words)} of them; "
            f"got length={length}"
        )
    refuse = {
        "channels": (channels, ", which shows all; {names} take them"),
        "head": (head, "; {names} take it"),
        "causal": (causal, "; {names} takes it"),
    }
    for option, (given, others) in refuse.items():
        if given is not None and not getattr(KINDS[kind], option):
            names = ", ".join(name for name, one in KINDS.items() if getattr(one, option))
            rule = f"{option} must be left out for kind {kind!r}"
            raise ValueError(rule + others.format(names=names))
    if channels is not None:
        channels = tuple(rules.whole("each of channels", channel) for channel in channels)
        if not channels:
            raise ValueError("channels must not be empty; leave them out to see a few")
    head = None if head is None else rules.whole("head", head, least=0)
    if causal is not None:
        rules.flag("causal", causal)
    drawn = params is None and any(subject.params for subject in subjects)
    scene = Scene(subjects, t, words, length, channels, seed, drawn, head, causal)
    return KINDS[kind].build(scene)


def _check_kind(kind: str, encodings: Sequence[Encoding], words: Sequence[str] | None) -> None:
    """Raise an error if the kind does not suit all encodings, or tokens one of them."""
    for encoding in encodings:
        if words is not None and not is_plain(encoding):
            raise ValueError(
                f"tokens must be left out for {type(encoding).__name__}, whose positions have "
                f"{encoding.axes} axes: it does not encode the tokens of a sentence one by one"
            )
    if kind not in (suitable := kinds_for(*encodings)):
        names = " and ".join(dict.fromkeys(type(encoding).__name__ for encoding in encodings))
        suited = f", which suits {first_encoding_for(kind)}" if kind in KINDS else ""
        raise ValueError(
            f"kind must be one that suits {names} ({', '.join(suitable) or 'none'}); "
            f"got kind={kind!r}{suited}"
        )
