"""What a file of an unknown model type says about its positions."""

import re
from collections.abc import Iterator, Mapping

from posenc.core.hints import nearest
from posenc.i18n import N_, Phrase, join_phrases, phrase, translatable
from posenc.interop.fields import HEADS, shorten

CLUES = {
    N_(
        "{fields}: multi-head latent attention, of which DeepSeek-V2, V3 and Kimi-K2 rotate the "
        "last channels of a head, interleaved"
    ): ("kv_lora_rank", "qk_nope_head_dim"),
    N_(
        "{fields}: RoPE; Llama and its kin pair halves, GPT-J, GLM and DeepSeek interleave, and "
        "`posenc.pairing_of` looks at the weights"
    ): (
        *("rope_theta", "rope_scaling", "rope_parameters", "rotary_emb_base", "rotary_dim"),
        *("rotary_pct", "rope_pct", "partial_rotary_factor", "rotary", "use_rotary_embeddings"),
    ),
    N_("{fields}: ALiBi, ALiBi(heads={heads})"): ("alibi", "use_alibi", "alibi_bias_max"),
    N_("{fields}: the bias of T5, T5Bias(heads={heads}, …)"): (
        *("relative_attention_num_buckets", "relative_attention_max_distance"),
    ),
    N_("{fields}: patches of an image, with a learned table or AxialRoPE"): (
        *("patch_size", "image_size", "num_patches"),
    ),
    N_("{fields}: a convolution as positions, which posenc does not have"): (
        *("num_conv_pos_embeddings", "conv_pos"),
    ),
    N_("{fields}: layers without attention, which have no positions"): (
        *("ssm_cfg", "state_size", "d_state", "time_step_rank", "mamba_d_state", "head_size_a"),
        *("attention_hidden_size", "num_wkv_heads"),
    ),
    N_("{fields}: the kind of encoding"): (
        *("position_embedding_type", "position_embeddings_type", "pos_emb", "positional_encoding"),
    ),
    N_("{fields}: parts with configs of their own, which can be passed by themselves"): (
        *("text_config", "vision_config", "audio_config", "encoder_config", "decoder_config"),
    ),
    N_("{fields}: the code that decides"): ("auto_map",),
}
"""What a field points to, the plainest first."""
OTHERS = N_("{fields}: about positions, under names of its own code")
ABOUT_POSITIONS = re.compile(r"rope|rotary|theta|alibi|position_embeddings?_type")
LENGTHS = ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len")


def refuse_without_type(
    name: str | None, values: Mapping[str, object], known: set[str]
) -> Exception:
    """The error for a model type that is not known: what the file has that points to an answer.

    >>> refuse_without_type("llamma", {}, {"llama"})
    ValueError("model_type must be a known one, unless pairing is given (`posenc config \
--pairing halves`, in Python read_config(…, pairing='halves')); got model_type='llamma'; did you \
mean 'llama'; no field of the file is about positions")
    """
    template = N_(
        "model_type must be a known one, unless pairing is given (`posenc config --pairing halves`,"
        " in Python read_config(…, pairing='halves')); got model_type={name!r}"
    )
    near = _find_typo((name or "")[:80], known)
    said = [] if near is None else [phrase("did you mean {near!r}", near=near)]
    said.extend(_find_clues(values))
    both = N_("{one}; {other}")
    rest = join_phrases(both, said)
    return translatable(ValueError, both, one=phrase(template, name=name), other=rest)


def _find_typo(name: str, known: set[str]) -> str | None:
    """The known model type that was meant; another version of a model is not a typo.

    >>> _find_typo("llamma", {"llama"}), _find_typo("llama9", {"llama"})
    ('llama', None)
    """
    near = nearest(name, known, cutoff=0.8)
    if near is None:
        return None
    version, other = ("".join(filter(str.isdigit, each)) for each in (name, near))
    return near if version == other else None


def _find_clues(values: Mapping[str, object]) -> Iterator[Phrase]:
    """What the fields of a file point to; if to nothing, what its length may be of."""
    heads = next((values[name] for name in HEADS if name in values), "…")
    found, named = False, {name for names in CLUES.values() for name in names}
    others = [name for name in values if ABOUT_POSITIONS.search(name) and name not in named]
    for template, names in (*CLUES.items(), (OTHERS, others[:8])):
        stated = [name for name in names if values.get(name) not in (None, False)]
        if not stated:
            continue
        found = found or stated[0] != "auto_map"
        quoted = ", ".join(f"{name}={_quote(values[name])}" for name in stated)
        extra = {"heads": heads} if "{heads}" in template else {}
        yield phrase(template, fields=shorten(quoted, 160), **extra)
    lengths = [f"{name}={_quote(values[name])}" for name in LENGTHS if values.get(name) is not None]
    if not found and lengths:
        template = N_(
            "{fields} alone says nothing of the encoding: the length of a table, or of a cache"
        )
        yield phrase(template, fields=", ".join(lengths))
    elif not found:
        yield phrase("no field of the file is about positions")


def _quote(value: object) -> str:
    """A value for a message; of an object its fields, of auto_map its files.

    >>> _quote({"rope_theta": 10000.0}), _quote({"AutoModel": "modeling_x.XModel"})
    ("{'rope_theta': 10000.0}", '{modeling_x}')
    """
    if not isinstance(value, Mapping):
        return shorten(repr(value), 40)
    if "model_type" in value:
        return "{…}"
    if all(isinstance(each, str) and "." in each for each in value.values()):
        files = sorted({str(each).partition(".")[0] for each in value.values()})
        return shorten("{" + ", ".join(files) + "}", 60)
    return shorten(repr(dict(value)), 60)
