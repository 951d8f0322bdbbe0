"""An encoding as callers give it: a value with its parameters, or a module that owns them."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from posenc.core import rules
from posenc.core.encoding import Encoding, suggest_making, unwrap
from posenc.core.mechanisms import Additive, Bias, Rotary, Scores, Unbiased
from posenc.torch.parameters import EncodingModule

Layout = Literal["bhsd", "bshd"]
LAYOUTS: tuple[Layout, ...] = ("bhsd", "bshd")


def swap_heads(x: Any) -> Any:
    """(batch, seq, heads, dim) as (batch, heads, seq, dim), or back; other things as they are."""
    return x.transpose(1, 2) if isinstance(x, Tensor) and x.ndim == 4 else x


def unpack_encoding(
    encoding: Any, params: Mapping[str, Any] | None, *, device: torch.device | None = None
) -> tuple[Encoding, Mapping[str, Tensor] | None]:
    """An encoding that acts in attention and its parameters, out of a module if it is one.

    encoding   an Encoding, or one of our modules
    params     what a value learns; None for a module
    device     where NumPy's parameters go; None: the CPU
    """
    if isinstance(encoding, EncodingModule):
        if params is not None:
            raise ValueError("params must be None for a module that owns them; got both")
        encoding, params = encoding.encoding, encoding.tensors() or None
    if not isinstance(encoding, Encoding):
        raise TypeError(
            "encoding must be an Encoding or a module of one; "
            f"got {encoding!r}{suggest_making(encoding)}"
        )
    inner = unwrap(encoding)
    if isinstance(inner, Additive):
        raise TypeError(
            "encoding must act on queries, keys or logits; "
            f"{type(inner).__name__} is added to the embeddings before the projections"
        )
    if not isinstance(encoding, Rotary | Bias | Scores):
        raise TypeError(f"encoding must be Rotary, Bias or Scores; got {type(encoding).__name__}")
    name, learns = type(inner).__name__, bool(inner.parameters())
    if params is None:
        if learns:
            modules = {Rotary: "RotateQK", Bias: "BiasLogits", Scores: "ScoreQK"}
            module = next(name for kind, name in modules.items() if isinstance(inner, kind))
            raise ValueError(
                f"params must be given for an encoding that learns, or the module that owns them, "
                f"{module}({name}(…)); got params=None"
            )
        return encoding, None
    if not rules.has_names(params) or (params and not learns):
        raise ValueError(f"params must be what {name}.init(rng) makes; got {type(params).__name__}")
    tensors = {
        name: torch.from_numpy(x).to(device) if isinstance(x, np.ndarray) else x
        for name, x in params.items()
    }
    return encoding, tensors


def wrappers(encoding: Encoding) -> list[Encoding]:
    """The encodings around the one at the centre, innermost first."""
    return [] if encoding.inner is None else [*wrappers(encoding.inner), encoding]


def keep_wrappers(encoding: Encoding) -> Bias | Scores:
    """What is left of an encoding whose innermost one acts elsewhere: no more than its wrappers.

    >>> import posenc as pe
    >>> keep_wrappers(pe.Tempered(pe.Sinusoidal(8), pe.LogN(512)))
    Tempered(Unbiased(), LogN(512))
    """
    if encoding.inner is None:
        return Unbiased()
    wrapper: Any = encoding
    (name,) = (f.name for f in fields(wrapper) if getattr(wrapper, f.name) is encoding.inner)
    return replace(wrapper, **{name: keep_wrappers(encoding.inner)})
