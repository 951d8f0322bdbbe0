"""Write the encoding of a model into its config: the inverse of reading."""

import copy
from typing import Any

from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.core.rotation import Pairing
from posenc.interop.config import read_config
from posenc.interop.draft import DIALECTS, Dialect, Draft
from posenc.interop.loading import Config, load_config


@hinted("to_config")
def to_config(
    encoding: Encoding,
    like: Config,
    *,
    layer_type: str | None = None,
    dialect: Dialect | None = None,
    pairing: Pairing | None = None,
) -> dict[str, Any]:
    """The config `like` with its positional fields changed, so that reading it gives `encoding`.

    encoding    a rotary encoding that the model type can express: its base, its scaling, and what
                else its fields decide; what the weights or the code fix is refused
    like        a path, the text of the file, or a dict, as in `read_config`; it is not changed
    layer_type  the layers to change, such as 'full_attention'; may be left out if all layers that
                rotate share one encoding
    dialect     'rope_parameters' as in transformers 5, or 'rope_scaling' as in 4; that of `like`
    pairing     as in `read_config`, for an unknown model type

    The trained length is kept: as original_max_position_embeddings where the scaling has it, and
    max_position_embeddings then is the factor times that; else max_position_embeddings is the
    trained length.

    >>> config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
    ...           "num_hidden_layers": 2, "max_position_embeddings": 2048, "rope_theta": 5e5}
    >>> from posenc import RoPE, YaRN
    >>> rope = RoPE(16, base=5e5, pairing="halves", scaling=YaRN(4.0, 2048))
    >>> new = to_config(rope, config)
    >>> new["rope_scaling"], new["max_position_embeddings"]
    ({'rope_type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 2048}, 8192)
    >>> to_config(RoPE(16), config)
    Traceback (most recent call last):
    ValueError: pairing must be 'halves', which the code of 'llama' fixes; got pairing='interleaved'
    """
    if not isinstance(encoding, Encoding):
        raise TypeError(f"encoding must be an Encoding; got encoding={encoding!r}")
    if dialect is not None:
        rules.one_of("dialect", dialect, DIALECTS)
    values = copy.deepcopy(dict(load_config(like)))
    before = read_config(values, pairing=pairing)
    if layer_type is dialect is None and all(layer == encoding for layer in before.layers):
        return values
    draft = Draft.of(values, pairing)
    changed = draft.choose_layers(before, layer_type)
    old = before.layers[changed[0]]
    if encoding == old and dialect in (None, draft.dialect):
        return values
    draft.require_expressible(old, encoding)
    draft.write(before, changed, encoding, dialect or draft.dialect)
    layers = tuple(encoding if i in changed else layer for i, layer in enumerate(before.layers))
    _verify(values, layers, pairing)
    return values


def _verify(values: dict[str, Any], layers: tuple[Encoding, ...], pairing: Pairing | None) -> None:
    """Read the new config back, and refuse to return one that means something else."""
    model = read_config(values, pairing=pairing)
    for i, (got, wanted) in enumerate(zip(model.layers, layers, strict=True)):
        if got != wanted:
            raise ValueError(
                f"encoding must be one that a config of {model.model_type!r} can say; layer {i} "
                f"would be {got!r} instead of {wanted!r}"
            )
