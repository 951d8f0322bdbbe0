"""What is put into the lab's model: an encoding sized for it, and how positions are drawn."""

import hashlib
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from posenc.core.encoding import Encoding
from posenc.core.mechanisms import Additive
from posenc.lab.batches import measure_sequence
from posenc.lab.settings import POLICIES, Policy, Settings
from posenc.names.make import make
from posenc.names.resolve import canonical_name, load_file, make_example, resolve_one


def parse_subject(text: str) -> tuple[str, Policy | None]:
    """An encoding, and how its positions are drawn if that is said after an @.

    >>> parse_subject("ALiBi"), parse_subject("rope@randomised")
    (('alibi', None), ('rope', 'randomised'))
    """
    what, at, policy = text.strip().rpartition("@")
    if not at:
        what, policy = policy, None
    elif policy not in POLICIES:
        raise ValueError(f"positions must be {', '.join(POLICIES)}; got {text!r}")
    return canonical_name(what) or what, policy


def hash_code(what: str) -> str:
    """A hash of the Python file that defines this encoding; "" if no file does."""
    file, _, _ = what.rpartition(":")
    if not file.endswith(".py") or not Path(file).is_file():
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]


def count_rows(settings: Settings) -> int:
    """Rows of a learned table: what training uses, or what tests do if training is offset."""
    if settings.positions == "randomised":
        return settings.limit
    tested = settings.lengths if settings.positions == "offsets" else [settings.train_lengths]
    return max(measure_sequence(settings, high) for _, high in tested)


def find_encoding(settings: Settings) -> Encoding:
    """The encoding of a run, sized for its model; a sentence if it cannot be used there."""
    encoding = _load(settings)
    name, head_dim = settings.encoding, settings.width // settings.heads
    if encoding.axes is not None or encoding.unit_positions:
        raise ValueError(f"tokens have one whole number as a position, which {name} cannot take")
    if encoding.causal_only and not settings.causal:
        hint = encoding.two_sided_hint
        raise ValueError(
            f"{name} is for decoders, and {settings.task} has an encoder"
            + (f" ({hint})" if hint else "")
        )
    wanted = settings.width if isinstance(encoding, Additive) else head_dim
    for size, value, own in (
        ("channels", wanted, encoding.dim),
        ("heads", settings.heads, encoding.heads),
    ):
        if own not in (None, value):
            raise ValueError(f"{name} has {own} {size}, and the model has {value}")
    if settings.positions == "offsets" and encoding.limit is None:
        raise ValueError(f"offsets are for encodings with a table of positions; {name} has none")
    longest = max(measure_sequence(settings, high) for _, high in settings.lengths)
    if settings.positions == "randomised" and settings.limit < longest:
        raise ValueError(
            f"limit must be at least {longest} for randomised positions of {settings.task} at "
            f"these lengths; got limit={settings.limit}"
        )
    if settings.extensions:
        extend(encoding, settings.extensions[0], length=1, factor=2.0)
    return encoding


def _load(settings: Settings) -> Encoding:
    what, rows = settings.encoding, count_rows(settings)
    if canonical_name(what):
        return make(what, dim=settings.width, heads=settings.heads, length=rows)
    file, _, name = what.rpartition(":")
    if not file.endswith(".py"):
        return resolve_one(what)
    if hash_code(what) != settings.code:
        raise ValueError(f"{file} has changed since the run was planned")
    mine = load_file(file).get(name)
    if mine is None:
        raise ValueError(f"{file} must define {name!r}, and does not")
    if type(mine).__name__ != name:  # a value, which has its sizes
        return mine
    dim = settings.width if isinstance(mine, Additive) else settings.width // settings.heads
    return type(mine).example(dim=dim, heads=settings.heads, length=rows)


def extend(encoding: Encoding, name: str, *, length: int, factor: float) -> Encoding:
    """This encoding under the scaling called `name`, for texts `factor` times as long as trained.

    >>> from posenc import RoPE
    >>> extend(RoPE(8), "yarn", length=64, factor=2.0)
    RoPE(8, scaling=YaRN(2.0, 64))
    """
    known = canonical_name(name)
    example = None if known is None else make_example(known)
    scaling: Any = None if example is None else _read_fields(example).get("scaling")
    if type(example) is not type(encoding) or scaling is None:
        raise ValueError(
            "extensions are scalings of rotations by name, such as yarn; "
            f"got {name!r} for {encoding}"
        )
    sizes = {"factor": factor, "original_length": length}
    given = {each: size for each, size in sizes.items() if each in _read_fields(scaling)}
    return _replace(encoding, scaling=_replace(scaling, **given))


def _read_fields(of: Any) -> dict[str, object]:
    """The fields of a value, by name."""
    return {field.name: getattr(of, field.name) for field in fields(of)} if is_dataclass(of) else {}


def _replace(of: Any, **given: object) -> Any:
    return replace(of, **given)
