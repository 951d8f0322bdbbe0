"""Make an encoding by name, sized for a model."""

import inspect
from dataclasses import is_dataclass, replace
from typing import cast

from posenc.core import rules
from posenc.core.encoding import Encoding, required_fields
from posenc.core.hints import unknown_argument
from posenc.core.mechanisms import Additive
from posenc.names.resolve import canonical_name, make_example, unknown_name


def make(
    name: str,
    *,
    dim: int | None = None,
    head_dim: int | None = None,
    heads: int | None = None,
    length: int | None = None,
    **options: object,
) -> Encoding:
    """Make the encoding called `name` for a model of these sizes.

    name      as in `posenc list`; case, hyphens, underscores and spaces are ignored
    dim       width of the model: channels of an embedding
    head_dim  channels of a query or key; dim / heads unless given
    heads     attention heads
    length    positions that a table of learned vectors has rows for
    options   other arguments of the encoding

    The sizes describe the model, so those that the encoding has no use for are ignored. What else
    it needs has the value of its `example()`, unless given.

    >>> model = {"dim": 512, "heads": 8, "length": 1024}
    >>> make("sinusoidal", **model), make("rope", **model), make("t5", **model)
    (Sinusoidal(512), RoPE(64), T5Bias(8))
    >>> make("yarn", head_dim=128, base=5e5)
    RoPE(128, base=500000.0, scaling=YaRN(4.0, 4096))
    >>> make("learned", dim=512)
    Traceback (most recent call last):
    ValueError: length must be given for learned; got length=None
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be that of an encoding; got {name!r}")
    known = canonical_name(name)
    if known is None:
        raise unknown_name(name)
    given = {"dim": dim, "head_dim": head_dim, "heads": heads, "length": length}
    for size, value in given.items():
        if value is not None:
            rules.whole(size, value, least=1)
    kind = type(make_example(known))
    wanted = _select_sizes(kind, known, options, given)
    encoding = make_example(known, **{**wanted, **options})
    if not options:
        return encoding
    assert is_dataclass(encoding)  # or its fields would have no names
    return replace(encoding, **options)


def _select_sizes(
    kind: type[Encoding], name: str, options: dict[str, object], sizes: dict[str, int | None]
) -> dict[str, int]:
    """The sizes of the model that an encoding needs, by the names of its fields."""
    fields = inspect.signature(kind).parameters if is_dataclass(kind) else {}
    for option in options:
        if option not in fields:
            raise unknown_argument(name, option, [*sizes, *fields])
    width = "dim" if issubclass(kind, Additive) else "head_dim"
    sources = {"dim": width, "feature_dim": "dim", "heads": "heads", "length": "length"}
    needed = {field: sources[field] for field in required_fields(kind) if field in sources}
    dim, heads = sizes["dim"], sizes["heads"]
    if "head_dim" in needed.values() and sizes["head_dim"] is None and dim and heads:
        if dim % heads:
            raise ValueError(
                f"head_dim must be given where heads do not divide dim; got dim={dim}, "
                f"heads={heads}"
            )
        sizes = sizes | {"head_dim": dim // heads}
    for size in needed.values():
        if sizes[size] is None:
            raise ValueError(f"{size} must be given for {name}; got {size}=None")
    return {field: cast(int, sizes[size]) for field, size in needed.items()}
