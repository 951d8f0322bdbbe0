"""The words of a comparison: headings and cells, in a language."""

from collections.abc import Callable

from posenc.checks import Row
from posenc.comparison.entry import Entry
from posenc.comparison.opinions import PAIRS, strengths, weaknesses
from posenc.core.encoding import MECHANISMS
from posenc.i18n import N_, Language, Translate, translator

MARKS = {
    "holds": "✓",
    "not claimed: holds": "(✓)",
    "not claimed: does not hold": "–",
    "fails": "✗",
    "not applicable": "",
    "not measured": "?",
}


def headings(lang: str) -> dict[str, str]:
    """The heading of each column.

    >>> headings("en")["axes"]
    'axes'
    """
    t = translator(lang)
    return {key: t(heading) for key, (heading, _) in COLUMNS.items()}


def cells(entry: Entry, lang: Language) -> dict[str, str]:
    """The cell of each column for one encoding."""
    t, several = translator(lang), "; " if lang == "en" else "；"
    told = {key: describe(entry, t) for key, (_, describe) in COLUMNS.items()}
    return {key: x if isinstance(x, str) else several.join(x) for key, x in told.items()}


def notes(entries: tuple[Entry, ...], lang: Language) -> list[str]:
    """What the marks mean, how time and memory were measured, and which times are unreliable."""
    t = translator(lang)
    said = [t("✓ holds, (✓) holds but is not claimed, – does not hold, ✗ is claimed and fails")]
    if any(entry.report.unmeasured for entry in entries):
        said.append(t("? not measured: no answer within the time limit"))
    sizes: dict[tuple[int, int, int], list[str]] = {}
    for entry in entries:
        if entry.cost is not None:
            size = entry.cost.tokens, entry.cost.heads, entry.cost.dim
            sizes.setdefault(size, []).append(entry.name)
    words = N_("time and memory with NumPy, {tokens} tokens, {heads} heads of {dim}: {names}")
    for (tokens, heads, dim), names in sizes.items():
        said.append(t(words, tokens=tokens, heads=heads, dim=dim, names=", ".join(names)))
    unsteady = [each.name for each in entries if each.cost is not None and not each.cost.steady]
    words = N_("times are unreliable, since the rounds of measurement differ: {names}")
    return [*said, t(words, names=", ".join(unsteady))] if unsteady else said


def format_bytes(count: float) -> str:
    """A number of bytes as people read it.

    >>> format_bytes(512), format_bytes(131_072)
    ('512 B', '131 kB')
    """
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} GB"


def _shorten(text: str, most: int = 180) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _parameters(entry: Entry, t: Translate) -> str:
    if not entry.parameters:
        return "0"
    kept = entry.parameters - entry.trained
    parts = [t("{count} trained", count=f"{entry.trained:,}")] if entry.trained else []
    parts += [t("{count} fixed", count=f"{kept:,}")] if kept else []
    return ", ".join(parts)


def _mark(row: Row, form: str) -> str:
    number = "" if row.measured is None else form.format(row.measured)
    return f"{MARKS[row.verdict]} {number}".strip()


def _length(row: Row) -> str:
    far = row.measured is not None and row.measured > 10**7
    return _mark(row, "> 10^7" if far else "≤ {:,.0f}")


def _axes(entry: Entry, t: Translate) -> str:
    if entry.axes > 1:
        return f"{MARKS[entry.report['every_axis'].verdict]} {entry.axes}"
    return t("1; more: {sibling}", sibling=entry.about.axial) if entry.about.axial else "1"


def _ratio(entry: Entry, t: Translate) -> str:
    if entry.cost is None:
        return t("not timed: {reason}", reason=entry.untimed) if entry.untimed else ""
    return f"{entry.cost.ratio:.2f}"


def _memory(entry: Entry) -> str:
    if entry.cost is None:
        return ""
    return format_bytes(entry.cost.bytes) + (" ∝ N" if entry.cost.power > PAIRS else "")


def _paper(entry: Entry) -> str:
    about = entry.about
    return about.paper if about.year is None else f"{about.paper} ({about.year})"


Column = tuple[str, Callable[[Entry, Translate], str | list[str]]]
"""A heading, and the function that describes an entry."""

MEASURED: dict[str, Column] = {
    "acts": (N_("where it acts"), lambda e, t: t(MECHANISMS[e.acts]) if e.acts else ""),
    "parameters": (N_("parameters"), _parameters),
    "size": (
        N_("parameter bytes"),
        lambda e, _: format_bytes(e.parameter_bytes) if e.parameters else "",
    ),
    "unique": (
        N_("unique"),
        lambda e, t: _mark(e.report["unique"], t("{count} repeated", count="{:,.0f}")),
    ),
    "relative": (N_("relative"), lambda e, _: _mark(e.report["relative"], "{:.1g}")),
    "any_length": (N_("any length"), lambda e, _: _length(e.report["any_length"])),
    "axes": (N_("axes"), _axes),
    "ratio": (N_("time / q kᵀ"), _ratio),
    "time": (
        N_("time per token"),
        lambda e, _: "" if e.cost is None else f"{e.cost.seconds * 1e6:.1f} µs",
    ),
    "memory": (N_("memory per token"), lambda e, _: _memory(e)),
}
KNOWN: dict[str, Column] = {
    "models": (N_("models"), lambda e, _: ", ".join(e.about.models)),
    "strengths": (N_("strengths"), strengths),
    "weaknesses": (N_("weaknesses"), weaknesses),
    "paper": (N_("paper"), lambda e, _: _paper(e)),
}
COLUMNS: dict[str, Column] = {
    "encoding": (N_("encoding"), lambda e, _: _shorten(e.encoding)),
    **MEASURED,
    **KNOWN,
}
