"""What a call of `attend` may be given, in one place, and what is read of it."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import torch
from torch import Tensor, nn

from posenc.core import rules
from posenc.core.attention_inputs import check_rate
from posenc.core.hints import unknown_argument
from posenc.core.mechanisms import Bias, Rotary, Scores
from posenc.torch.given import LAYOUTS, Layout


class Options(TypedDict, total=False):
    """The arguments of `attend` beside q, k and v, which `Attend` describes."""

    encoding: Bias | Rotary | Scores | nn.Module | None
    params: Mapping[str, Any] | None
    q_pos: Any
    k_pos: Any
    causal: bool
    window: int | None
    documents: Tensor | tuple[Tensor, Tensor] | None
    mask: Tensor | None
    scale: float | None
    features: Tensor | tuple[Tensor, Tensor] | None
    softcap: float | None
    sinks: Tensor | None
    dropout: float
    generator: torch.Generator | None
    layout: Layout


DEFAULTS = {"causal": False, "dropout": 0.0, "layout": "bhsd"}
"""What an option is that is not given, where that is not None."""
NAMES = (*Options.__annotations__, "cache", "return_lse", "impl")


def spell_out(function: Callable[..., object]) -> inspect.Signature:
    """The signature of a function with all options by name, in place of **options.

    >>> def attend(q, *, impl="auto", **options): ...
    >>> [*spell_out(attend).parameters][:5]
    ['q', 'impl', 'encoding', 'params', 'q_pos']
    """
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    by_name = inspect.Parameter.KEYWORD_ONLY
    named = [
        inspect.Parameter(name, by_name, default=DEFAULTS.get(name), annotation=type_)
        for name, type_ in Options.__annotations__.items()
    ]
    return signature.replace(parameters=[*own, *named])


def check_names(options: Options) -> None:
    """Raise an error for an argument that `attend` does not have, with the one that was meant."""
    for name in options:
        if name not in NAMES:
            raise unknown_argument("attend", name, NAMES)


def read_layout(options: Options) -> bool:
    """Whether heads come after the sequence."""
    layout = options.get("layout", "bhsd")
    rules.one_of("layout", layout, LAYOUTS)
    return layout == "bshd"


def read_dropout(rate: float, generator: torch.Generator | None, q: Tensor) -> Tensor | None:
    """The seed of a call's dropout, drawn from the generator; None if nothing is dropped."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(f"generator must be a torch.Generator; got {type(generator).__name__}")
    if check_rate(rate) == 0:
        return None
    device = q.device if generator is None else generator.device
    return torch.randint(2**32, (), generator=generator, device=device).to(q.device)
