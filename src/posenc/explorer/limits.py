"""Limits of the explorer, each checked before memory or time is spent."""

from collections.abc import Iterable, Mapping
from functools import partial
from math import inf, prod
from typing import Any

from posenc.core.encoding import Encoding, unwrap
from posenc.core.mechanisms import Scores
from posenc.i18n import N_, join_phrases, translatable
from posenc.views import cost
from posenc.views.kind import has_rows, is_plain
from posenc.views.kinds import KINDS

TEXT = 2_000
POSITIONS = 8_192
CELLS = 2**22
"""Numbers in the images of a view, or in an encoding's parameters."""
TABLE = 2**20
"""Cells of a CSV table, a line each: as many as a spreadsheet has rows."""
LARGE = 2**17
"""Numbers beyond which a view takes so long that others must not wait for it."""
EXPLAINED = 512
"""Positions and dimensions of a worked calculation, which writes out every number."""
INTERMEDIATE = 2**24
"""Numbers computed for a view but not kept, such as a matrix for each head."""
ENCODINGS = 4
EXPRESSION = 2_000
CONFIG = 256 * 1024
SIZES = (
    dict.fromkeys(("dim", "rotary_dim", "reach", "buckets", "features", "feature_dim"), 4_096)
    | dict.fromkeys(("sections", "shares", "axis_of_pair", "frequencies"), 2_048)
    | {"heads": 64, "length": 8_192, "axes": 4, "hidden": 1_024, "window": 32}
)
"""Largest value of each size, by the name of its field; of a tuple, its largest entry."""
WIDTH = 2**16
"""Channels of all heads together."""

join_times = partial(join_phrases, N_("{one} x {other}"))
join_plus = partial(join_phrases, N_("{one} + {other}"))


def check_arguments(kind: str, arguments: dict[str, Any]) -> None:
    """Raise if an argument of an encoding is too large, before the encoding is made."""
    for name, value in arguments.items():
        many = value if isinstance(value, tuple) else (value,)
        if len(many) > 4_096:
            raise translatable(
                ValueError,
                "{name} of {kind} must have at most 4,096 entries; got {count}",
                name=name,
                kind=kind,
                count=len(many),
            )
        for entry in many:
            if type(entry) in (int, float) and abs(entry) > SIZES.get(name, inf):
                raise _refuse_argument(name, SIZES[name], entry)
    heads, dim = arguments.get("heads"), arguments.get("dim")
    if type(heads) is int and type(dim) is int and heads * dim > WIDTH:
        raise _refuse_argument(join_times(("heads", "dim")), WIDTH, join_times((heads, dim)))


def _refuse_argument(name: object, most: int, entry: object) -> Exception:
    template = N_("{name} must be at most {most:,} in the explorer; got {entry}")
    return translatable(ValueError, template, name=name, most=most, entry=entry)


def check_parameters(encoding: Encoding) -> None:
    """Raise if a parameter of an encoding has too many numbers, before it is drawn."""
    for parameter in encoding.parameters().values():
        if prod(parameter.shape) > CELLS:
            raise translatable(
                ValueError,
                "the parameters of {kind} must be at most {most:,} numbers in the explorer; "
                "got {sizes}",
                kind=type(unwrap(encoding)).__name__,
                most=CELLS,
                sizes=join_times(f"{size:,}" for size in parameter.shape),
            )


CHECKED = 2**21
"""Numbers at 4,096 positions up to which a page checks an encoding unasked: 512 channels."""


def is_costly(encoding: Encoding) -> bool:
    """Whether checking an encoding takes so long that a page should wait to be asked.

    >>> from posenc import ALiBi, Sinusoidal
    >>> is_costly(Sinusoidal(512)), is_costly(Sinusoidal(1024)), is_costly(ALiBi(64))
    (False, True, False)
    """
    given = unwrap(encoding)
    wide, rows = (given.dim or 1) * (given.heads or 1), 1
    if isinstance(given, Scores):  # which multiply queries by tables, or project positions
        wide *= wide if wide > 64 else 1
        rows = max((max(each.shape, default=1) for each in given.parameters().values()), default=1)
    return 4_096 * max(wide, rows) > CHECKED


def view_sizes(kind: str, encoding: Encoding, length: int) -> Mapping[str, int]:
    """The sizes, by name, whose product is about how many numbers a view takes.

    kind  that of a view, or "explain", a worked calculation
    """
    inner = unwrap(encoding)
    if kind in KINDS:
        return KINDS[kind].cost(inner, length)
    if not is_plain(inner):  # on a grid whose size does not depend on the request
        return {}
    has_logits = kind == "explain" and not has_rows(encoding)  # also under a temperature
    return (cost.logits if has_logits else cost.rows)(inner, length)


def most_numbers(kind: str) -> int:
    """How many numbers a view of this kind may take."""
    return INTERMEDIATE if kind in KINDS and KINDS[kind].intermediate else CELLS


def count_numbers(kind: str, encodings: Iterable[Encoding], length: int) -> int:
    """Approximately how many numbers a view of these encodings takes.

    >>> from posenc import ALiBi, Sinusoidal
    >>> count_numbers("heatmap", [Sinusoidal(64)], 8), count_numbers("bias", [ALiBi(8)], 64)
    (512, 32768)
    """

    def count(encoding: Encoding) -> int:
        sizes = view_sizes(kind, encoding, length)
        return prod(sizes.values()) if sizes else cost.width(unwrap(encoding)) * GRID

    return sum(map(count, encodings))


GRID = 2**8
"""Positions in a picture of an encoding with several axes."""
