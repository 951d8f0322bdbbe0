"""Strengths and weaknesses: what the measurements come to, then what only people can tell."""

from collections.abc import Iterator

from posenc.comparison.entry import Entry
from posenc.i18n import Translate

PAIRS = 1.5
"""Memory that grows with a power above this is for each pair of tokens, not for each token."""


def strengths(entry: Entry, t: Translate) -> list[str]:
    """What speaks for an encoding, in the language of `t`."""
    return [*_measured_strengths(entry, t), *(t(message) for message in entry.about.strengths)]


def weaknesses(entry: Entry, t: Translate) -> list[str]:
    """What speaks against it."""
    return [*_measured_weaknesses(entry, t), *(t(message) for message in entry.about.weaknesses)]


def _measured_strengths(entry: Entry, t: Translate) -> Iterator[str]:
    if entry.trained == 0:
        yield t("nothing to learn")
    if entry.trained:
        yield t("learned from data")
    if entry.holds("any_length"):
        yield t("takes any length")
    if entry.holds("relative") and entry.holds("ordered"):
        yield t("sees distances only")
    if entry.holds("linear_shift"):
        yield t("a shift is one matrix")
    if entry.holds("norm_preserving"):
        yield t("keeps the lengths of vectors")
    if entry.holds("decays"):
        yield t("far keys count less")
    if entry.axes > 1 and entry.holds("every_axis"):
        yield t("takes points on {axes} axes", axes=entry.axes)
    if entry.acts in ("additive", "rotary"):
        yield t("any attention kernel will do")


def _measured_weaknesses(entry: Entry, t: Translate) -> Iterator[str]:
    if entry.report.failed:
        yield t("claims that fail: {names}", names=", ".join(entry.report.failed))
    if entry.lacks("any_length"):
        last = entry.report["any_length"].measured
        yield t("ends at position {last}", last="?" if last is None else f"{last:,.0f}")
    if entry.lacks("ordered"):
        yield t("cannot tell one order from another")
    elif entry.lacks("unique"):
        count = entry.report["unique"].measured
        yield t("{count} positions repeat others", count=f"{count or 0:,.0f}")
    if entry.lacks("relative"):
        yield t("depends on places, not on distances alone")
    if entry.lacks("decodes"):
        yield t("cached keys do not stay right")
    if entry.trained:
        yield t("{count} numbers to train", count=f"{entry.trained:,}")
    if entry.causal_only:
        yield t("for keys behind their query only")
    # what changes nothing (NoPE) need not be written out
    if entry.cost is not None and entry.cost.power > PAIRS and not entry.lacks("ordered"):
        yield t("a bias written out takes memory for each pair of tokens")
