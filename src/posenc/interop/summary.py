"""The description of a model as text for a terminal and as HTML for a notebook."""

from collections.abc import Iterator
from html import escape
from typing import Any

MOST_ROWS = 12
"""Groups of layers that a notebook shows."""


def summarise(description: dict[str, Any]) -> Iterator[str]:
    """Lines of text for what `describe` returned.

    >>> from posenc import read_config
    >>> from posenc.interop.describe import describe
    >>> model = read_config({"model_type": "bloom", "n_head": 8, "n_layer": 2, "seq_length": 2048})
    >>> print(*summarise(describe(model)), sep="\\n")
    bloom: 2 layers, trained length 2,048
    layers 0-1: ALiBi(8)
      beyond the trained length: defined: the penalty keeps growing with the distance, ...
    """
    length = description["trained_length"]
    yield f"{description['model_type']}: {_format_size(description)}"
    for group in description["groups"]:
        yield f"layers {group['where']}: {group['encoding']}"
        if "pairing" in group:
            base = f"base {group['base']:,.10g}, " if "base" in group else ""
            channels = f"{group['rotary_dim']} of {group['dim']} channels rotate"
            yield f"  {base}{channels}, pairing {group['pairing']}"
            wave = group["longest_wavelength"]
            if wave is not None and length is not None:
                turns = f"{group['full_turns']} of {group['pairs']}"
                yield f"  {turns} pairs complete a turn within {length:,} tokens"
            if wave is not None:
                yield f"  longest wavelength: {wave:,.1f} tokens"
            if group["still_pairs"]:
                yield f"  {group['still_pairs']} pairs do not rotate"
            if "scaling" in group:
                yield f"  scaling: {group['does']}"
            yield f"  attention factor: {group['attention_factor']:.6g}"
        yield f"  beyond the trained length: {group['beyond']}"
    for note in description["notes"]:
        yield f"note: {note}"


def _format_size(description: dict[str, object]) -> str:
    length = description["trained_length"]
    trained = "unknown" if length is None else f"{length:,}"
    return f"{description['layers']} layers, trained length {trained}"


def summarise_html(description: dict[str, Any]) -> str:
    """A table of the groups of layers, with the notes below it."""
    groups, notes = description["groups"], description["notes"]
    rows = [
        f"<tr><td>{escape(group['where'])}</td>"
        f"<td><code>{escape(group['encoding'])}</code></td><td>{escape(group['beyond'])}</td></tr>"
        for group in groups[:MOST_ROWS]
    ]
    if len(groups) > MOST_ROWS:
        rows.append(f"<tr><td colspan=3>and {len(groups) - MOST_ROWS} more</td></tr>")
    listed = "".join(f"<li>{escape(str(note))}</li>" for note in notes)
    return (
        f"<b>{escape(description['model_type'])}</b>: {_format_size(description)}"
        "<table><thead><tr><th>layers</th><th>encoding</th><th>beyond the trained length</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table>" + (f"<ul>{listed}</ul>" if notes else "")
    )
