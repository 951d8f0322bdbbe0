"""Encodings side by side: measured properties, the cost of applying them, and their sources."""

from collections.abc import Callable, Mapping, Sequence

from posenc.comparison.entry import Entry, measure_entry
from posenc.comparison.result import Comparison
from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.i18n import Language, language
from posenc.names.resolve import canonical_name, refuse_unused, resolve, resolve_one

__all__ = ["Comparison", "Entry", "compare"]

Given = str | Encoding | Mapping[str, Encoding]


@hinted("compare")
def compare(
    *encodings: Given,
    sizes: Mapping[str, int] | None = None,
    bench: bool = True,
    lang: Language = "en",
    seed: int = 0,
    limit: float = 20.0,
    progress: Callable[[str], object] | None = None,
) -> Comparison:
    """A table of encodings: where each acts, its parameters, properties, cost, users and paper.

    encodings   each a value, a name, an expression, the path of a config.json (see
                `posenc.names.resolve`), or a mapping from labels of your own to values
    sizes       dim, heads and length of encodings given by name; None: the defaults
    bench       measure time and memory too
    lang        en, ja, zh-Hans or zh-Hant
    seed        that of `check`, which measures the properties
    limit       seconds for each check
    progress    called with the name of each encoding before it is measured

    >>> table = compare("rope", "RoPE(64, scaling=YaRN(4, 8192))", bench=False)
    >>> [entry.report["norm_preserving"].verdict for entry in table.entries]
    ['holds', 'not claimed: does not hold']
    """
    lang = language(lang)
    rules.flag("bench", bench)
    subjects: dict[str, Encoding] = {}
    for given in encodings:
        subjects |= _name_encodings(given, dict(sizes or {}))
    if not subjects:
        raise ValueError("encodings must be one or more, by name or as values; got none")
    named = [each for each in encodings if isinstance(each, str) and canonical_name(each)]
    if sizes:
        _check_sizes(sizes, [resolve_one(name) for name in named])
    entries: list[Entry] = []
    for name, encoding in subjects.items():
        if progress is not None:
            progress(name)
        entries.append(measure_entry(name, encoding, bench=bench, seed=seed, limit=limit))
    return Comparison(tuple(entries), lang)


def _check_sizes(sizes: Mapping[str, int], named: Sequence[Encoding]) -> None:
    for name in sizes:
        rules.one_of("each of sizes", name, ("dim", "heads", "length"))
    if not named:
        raise ValueError(
            f"sizes must be left out: they are for names such as rope; got {dict(sizes)}"
        )
    refuse_unused(sizes, *named)


def _name_encodings(given: Given, sizes: dict[str, int]) -> dict[str, Encoding]:
    match given:
        case str():
            return resolve(given, **(sizes if canonical_name(given) else {}))
        case Encoding():
            return {str(given): given}
        case Mapping() if all(isinstance(value, Encoding) for value in given.values()):
            return dict(given)
        case _:
            raise TypeError(f"each of encodings must be an Encoding or name one; got {given!r}")
