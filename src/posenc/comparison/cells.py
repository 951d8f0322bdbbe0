"""The words of a comparison: headings and cells, in a language."""

from posenc.checks import Row
from posenc.comparison.entry import Entry
from posenc.comparison.opinions import PAIRS, strengths, weaknesses
from posenc.i18n import Language, Translate, translator

MEASURED = (
    "acts",
    "parameters",
    "size",
    "unique",
    "relative",
    "any_length",
    "axes",
    "ratio",
    "time",
    "memory",
)
KNOWN = ("models", "strengths", "weaknesses", "paper")
MARKS = {
    "holds": "✓",
    "not claimed: holds": "(✓)",
    "not claimed: does not hold": "–",
    "fails": "✗",
    "not applicable": "",
    "not measured": "?",
}


def headings(lang: Language) -> dict[str, str]:
    """The heading of each column.

    >>> headings("en")["axes"]
    'axes'
    """
    t = translator(lang)
    return {
        "encoding": t("encoding"),
        "acts": t("where it acts"),
        "parameters": t("parameters"),
        "size": t("parameter bytes"),
        "unique": t("unique"),
        "relative": t("relative"),
        "any_length": t("any length"),
        "axes": t("axes"),
        "ratio": t("time / q kᵀ"),
        "time": t("time per token"),
        "memory": t("memory per token"),
        "models": t("models"),
        "strengths": t("strengths"),
        "weaknesses": t("weaknesses"),
        "paper": t("paper"),
    }


def cells(entry: Entry, lang: Language) -> dict[str, str]:
    """The cell of each column for one encoding."""
    t = translator(lang)
    several = "; " if lang == "en" else "；"
    about = entry.about
    return {
        "encoding": _shorten(entry.encoding),
        "acts": _describe_mechanism(entry.acts, t),
        "parameters": _parameters(entry, t),
        "size": format_bytes(entry.parameter_bytes) if entry.parameters else "",
        "unique": _mark(entry.report["unique"], t("{count} repeated", count="{:,.0f}")),
        "relative": _mark(entry.report["relative"], "{:.1g}"),
        "any_length": _length(entry.report["any_length"]),
        "axes": _axes(entry, t),
        "ratio": _ratio(entry, t),
        "time": "" if entry.cost is None else f"{entry.cost.seconds * 1e6:.1f} µs",
        "memory": _memory(entry),
        "models": ", ".join(about.models),
        "strengths": several.join(strengths(entry, t)),
        "weaknesses": several.join(weaknesses(entry, t)),
        "paper": about.paper if about.year is None else f"{about.paper} ({about.year})",
    }


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
    for (tokens, heads, dim), names in sizes.items():
        said.append(
            t(
                "time and memory with NumPy, {tokens} tokens, {heads} heads of {dim}: {names}",
                tokens=tokens,
                heads=heads,
                dim=dim,
                names=", ".join(names),
            )
        )
    unsteady = [each.name for each in entries if each.cost is not None and not each.cost.steady]
    if unsteady:
        said.append(
            t(
                "times are unreliable, since the rounds of measurement differ: {names}",
                names=", ".join(unsteady),
            )
        )
    return said


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


def _describe_mechanism(acts: str, t: Translate) -> str:
    match acts:
        case "additive":
            return t("added to embeddings")
        case "rotary":
            return t("turns queries and keys")
        case "bias":
            return t("added to logits")
        case "scores":
            return t("makes the logits")
        case _:
            return ""


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
    if row.measured is None:
        return MARKS[row.verdict]
    number = "> 10^7" if row.measured > 10**7 else f"≤ {row.measured:,.0f}"
    return f"{MARKS[row.verdict]} {number}"


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
