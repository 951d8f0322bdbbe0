"""Convert the weights of a model from one pairing to the other."""

from collections.abc import Mapping
from typing import Any

from posenc.core.arrays import Array, is_array
from posenc.core.hints import hinted
from posenc.core.rotation import Pairing
from posenc.interop.checkpoints.plan import plan_conversion
from posenc.interop.checkpoints.rows import Rows
from posenc.interop.loading import Config


@hinted("convert")
def convert(
    state: Mapping[str, Array], config: Config, *, to: Pairing, pairing: Pairing | None = None
) -> dict[str, Array]:
    """Reorder the rows of a checkpoint so that it can be run with the other pairing of RoPE.

    state    arrays by Hugging Face's parameter names, with any prefix
    config   a path, the text of the file, or a dict, as in `read_config`
    to       "halves" or "interleaved": the pairing that the result is for
    pairing  of `state`, if it is not that of the model type

    Only queries and keys change, with their biases and norms, and of them only the channels that
    rotate. No value changes, so queries and keys have the same products: the logits of the model
    with the one pairing and with the other are equal. The other arrays are returned as they are.

    >>> import numpy as np
    >>> config = {"model_type": "llama", "hidden_size": 4, "num_attention_heads": 1,
    ...           "num_hidden_layers": 1}
    >>> state = {f"model.layers.0.self_attn.{name}_proj.weight": np.arange(4.0)[:, None]
    ...          for name in "qkv"}
    >>> [rows[:, 0].tolist() for rows in convert(state, config, to="interleaved").values()]
    [[0.0, 2.0, 1.0, 3.0], [0.0, 2.0, 1.0, 3.0], [0.0, 1.0, 2.0, 3.0]]
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"state must map names to arrays; got {type(state).__name__}")
    for name, value in state.items():
        if not is_array(value):
            raise TypeError(f"{name} must be an array; got {type(value).__name__}")
    shapes = {name: tuple(value.shape) for name, value in state.items()}
    plan = plan_conversion(config, shapes, to=to, pairing=pairing)
    moved = {name: _move(state[name], rows, to) for name, rows in plan.rows.items()}
    return {**state, **moved}


def _move(array: Any, rows: Rows, to: Pairing) -> Array:
    """Reorder rows; the norms of several heads may be two-dimensional."""
    shape = tuple(array.shape)
    flat = array if shape[0] == rows.count else array.reshape(rows.count)
    return flat[rows.index(to)].reshape(shape)
