"""A bar chart of a run: every ratio on a logarithmic axis, with the bars that must be met."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from posenc.bench.report import describe_machine_of

OURS, THEIRS, LIMIT = "#2166ac", "#b0b0b0", "#b2182b"


def draw_run(data: Mapping[str, Any], path: str | Path) -> None:
    """Write a picture of a run; the ending of the name decides the format."""
    absolute = {bar["case"] for bar in data["bars"] if bar["kind"] == "seconds"}
    results = [r for r in data["benchmarks"] if r["rows"] and r["name"] not in absolute]
    if not results:
        raise ValueError("there is no ratio to draw")
    count = sum(len(result["rows"]) for result in results)
    height = 1.2 + 0.22 * count + 0.45 * len(results)
    figure = Figure(figsize=(10, height), layout="constrained")
    sizes = [len(result["rows"]) + 1 for result in results]
    axes = figure.subplots(len(results), 1, sharex=True, height_ratios=sizes, squeeze=False)[:, 0]
    for ax, result in zip(axes, results, strict=True):
        _draw_case(ax, result, data["bars"])
    axes[-1].set_xscale("log")
    axes[-1].set_xlabel(
        "time relative to the first of each group; the red line must not be passed", fontsize=8
    )
    axes[-1].tick_params(axis="x", labelsize=8)
    trust = "" if data["trusted"] else "\nUnreliable timings: pale rows are unsteady."
    figure.suptitle(f"{describe_machine_of(data)}{trust}", fontsize=8)
    figure.savefig(path, dpi=120)


def _draw_case(ax: Any, result: Mapping[str, Any], bars: Any) -> None:
    rows = result["rows"]
    limits = {
        bar["entry"]: bar["limit"]
        for bar in bars
        if bar["case"] == result["name"] and bar["kind"] == "time" and bar["against"] in rows
    }
    for place, (name, row) in enumerate(rows.items()):
        colour = OURS if row["ours"] else THEIRS
        ax.barh(place, row["ratio"], left=0, color=colour, alpha=1 if row["steady"] else 0.45)
        ax.text(row["ratio"], place, f" {row['ratio']:.3g}", va="center", fontsize=7)
        if name in limits:
            ax.plot([limits[name]] * 2, [place - 0.45, place + 0.45], color=LIMIT, linewidth=2)
    ax.set_yticks(range(len(rows)), rows, fontsize=7)
    ax.invert_yaxis()
    ax.set_title(f"{result['group']}: {result['what']}", fontsize=8, loc="left")
    ax.axvline(1.0, color="black", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
