"""Did you mean …? Names that people type, and the names that posenc has for the same thing."""

import difflib
import functools
import inspect
import unicodedata
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from posenc.i18n import N_, phrase, translatable

P = ParamSpec("P")
T = TypeVar("T")

SAME = tuple(
    frozenset(names.split())
    for names in (
        "base theta rope_theta rope_base rotary_base freq_base freqs_base",
        "heads num_heads n_heads n_head nhead nheads num_attention_heads head_count",
        "dim d_model head_dim dim_head d_head embed_dim embedding_dim emb_dim hidden_size n_embd"
        " hidden_dim channels num_channels embedding_size",
        "length max_len max_length max_seq_len max_seq_length seq_len seq_length seqlen n_positions"
        " max_positions max_position max_position_embeddings num_embeddings context_length"
        " block_size n_ctx",
        "original_length original_max_position_embeddings original_max_seq_len trained_length"
        " original_max_len max_position_embeddings",
        "rotary_dim rot_dim rotary_ndims rotary_pct partial_rotary_factor",
        "scaling rope_scaling rope_type scaling_type",
        "factor scaling_factor scale_factor scale",
        "buckets num_buckets relative_attention_num_buckets",
        "max_distance relative_attention_max_distance",
        "reach max_relative_position max_relative_positions clip_distance",
        "window window_size sliding_window",
        "pairing interleaved rope_interleaved is_neox_style",
        "std init_std initializer_range",
        "axes ndim num_axes spatial_dims",
        "encoding position_encoding pos_encoding pos_emb attn_bias",
        "causal is_causal",
        "mask attn_mask attention_mask key_padding_mask src_key_padding_mask",
        "documents segment_ids document_ids doc_ids",
        "q_pos q_positions query_positions position_ids positions",
        "k_pos k_positions key_positions position_ids positions",
        "scale sm_scale softmax_scale",
        "impl implementation backend",
        "tokens text sentence words",
        "lang language locale",
        "seed random_state rng",
        "limit timeout",
        "dropout dropout_p drop drop_rate hidden_dropout_prob",
        "inplace in_place",
        "softcap soft_cap logit_softcap logits_soft_cap attn_logit_softcapping logit_softcapping",
        "sinks sink s_aux attention_sinks attn_sinks learnable_sink",
        "return_lse return_softmax_lse return_logsumexp return_aux",
    )
)
"""Names for the same argument, here and in other libraries."""

ABSENT = {
    "dropout": N_("there is no dropout here"),
    "dropout_p": N_("there is no dropout here"),
    "enable_gqa": N_("fewer heads of keys need no flag"),
}
"""Arguments of other libraries that posenc does not have."""


def fold(name: str) -> str:
    """Normalise a name: ignore case, width, spaces, hyphens and underscores.

    >>> fold("Transformer-XL") == fold("transformer_xl") == fold("TransformerXL")
    True
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(c for c in plain if not (c.isspace() or c in "-_"))


def nearest(name: str, names: Iterable[str], *, cutoff: float = 0.7) -> str | None:
    """The closest of these names, or None if none is close; `cutoff` is that of `difflib`.

    >>> nearest("rpoe", ["alibi", "rope"]), nearest("dog", ["alibi", "rope"])
    ('rope', None)
    """
    folded = {fold(each): each for each in reversed([*names])}  # the first of equals is kept
    found = difflib.get_close_matches(fold(name), folded, 1, cutoff=cutoff)
    return folded[found[0]] if found else None


def did_you_mean(near: str | None) -> str:
    """A suffix for errors that suggests the name `near`; empty if it is None.

    >>> did_you_mean("rope"), did_you_mean(None)
    ('; did you mean rope?', '')
    """
    return "" if near is None else f"; did you mean {near}?"


def argument_for(name: str, known: Iterable[str]) -> str | None:
    """The argument among `known` that other libraries call `name`, or that is spelled similarly.

    >>> argument_for("rope_theta", ["dim", "base"]), argument_for("n_heads", ["dim", "heads"])
    ('base', 'heads')
    """
    known = [*known]
    return _alias(name, known) or nearest(name, known, cutoff=0.6)


def _alias(name: str, known: list[str]) -> str | None:
    """The argument among `known` that has this very name elsewhere."""
    alike = (each for each in known for names in SAME if {name, each} <= names)
    return next(alike, None)


def unknown_argument(
    maker: str, name: str, known: Iterable[str], *, kind: type[Exception] = TypeError
) -> Exception:
    """The error of a call of `maker` with an argument that it does not have.

    >>> unknown_argument("RoPE", "theta", ["dim", "base"])
    TypeError("RoPE has no argument 'theta'; did you mean base=?")
    """
    known = [*known]
    hint = argument_for(name, known)
    if name in ABSENT and not _alias(name, known):
        template, rest = N_("{maker} has no argument {name!r}; {why}"), phrase(ABSENT[name])
    elif hint is not None:
        template, rest = N_("{maker} has no argument {name!r}; did you mean {hint}=?"), hint
    else:
        template, rest = N_("{maker} has no argument {name!r}; it takes {known}"), None
    listed = ", ".join(known) or phrase("none")
    values = {"maker": maker, "name": name, "why": rest, "hint": rest, "known": listed}
    return translatable(kind, template, **values)


def hinted(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorates a function, to answer an unknown keyword argument with the one that was meant.

    >>> @hinted("attend")
    ... def attend(*, causal=False):
    ...     return causal
    >>> attend(is_causal=True)
    Traceback (most recent call last):
    TypeError: attend has no argument 'is_causal'; did you mean causal=?
    """
    return lambda function: _add_hints(function, name)


def hint_arguments(*kinds: type) -> None:
    """Let the constructors and presets of these dataclasses say which argument was meant.

    Wrapping `__init__` leaves a class as plain as it was: frozen, picklable, its signature known.
    """
    for kind in kinds:
        setattr(kind, "__init__", _add_hints(kind.__init__, kind.__name__))  # noqa: B010
        for name, preset in [*vars(kind).items()]:
            if isinstance(preset, classmethod) and not name.startswith("_"):
                wrapped = _add_hints(preset.__func__, f"{kind.__name__}.{name}")
                setattr(kind, name, classmethod(wrapped))


def _add_hints(function: Callable[P, T], maker: str) -> Callable[P, T]:
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.items()
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for _, each in parameters):
        return function  # it takes any name, or says itself what it takes
    known = [n for n, each in parameters if each.kind in named and n not in ("self", "cls")]

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs:
            if name not in known:
                raise unknown_argument(maker, name, known)
        return function(*args, **kwargs)

    return wrapper
