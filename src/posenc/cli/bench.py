"""`posenc bench`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posenc.cli import options
from posenc.cli.loading import resolve_names, select_encodings
from posenc.cli.timing import use_one_thread, warn_if_busy
from posenc.cli.usage import (
    call_library,
    describe_missing,
    print_data,
    reject_options,
    report_unwritable,
)

if TYPE_CHECKING:
    from posenc.bench.case import Case

ENDINGS = (".png", ".svg", ".pdf")


def _check_picture(_ctx: click.Context, _param: click.Parameter, path: str | None) -> str | None:
    """A picture that cannot be written is said before the timings, not after them."""
    if path is not None:
        if Path(path).suffix not in ENDINGS:
            raise click.BadParameter(f"must end in {', '.join(ENDINGS)}; got {path!r}")
        if not Path(path).parent.is_dir():
            raise click.BadParameter(f"there is no directory {Path(path).parent}")
    return path


@click.command()
@options.encodings
@options.load
@click.option("--quick", is_flag=True, help="Run only the main benchmarks, in a minute.")
@click.option("--peers", is_flag=True, help="Time other libraries too, where installed.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Only benchmarks whose name or group contains NAME. Can be repeated.",
)
@click.option(
    "--rounds",
    type=int,
    help="Number of interleaved rounds; medians are reported.  [default: 9 for an ENCODING; else "
    "as many as fit into a few seconds]",
)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    callback=_check_picture,
    help="Draw the ratios: .png, .svg or .pdf.",
)
@options.as_json
def bench(
    names: tuple[str, ...],
    files: tuple[str, ...],
    quick: bool,
    peers: bool,
    only: tuple[str, ...],
    rounds: int | None,
    picture: str | None,
    as_json: bool,
) -> None:
    """Time posenc against copies, plain attention and other implementations.

    Each implementation is first checked against float64. If one of posenc's is off, it is reported
    instead of timed, and the exit code is 1. If another library's is off by more than its own
    rounding explains, it is left out as well, but the run does not fail. Each row is a ratio to
    the first row of its group, measured in the same run; posenc's own targets are marked as met or
    missed. The full run takes ten minutes.

    With an ENCODING, time that encoding relative to plain query-key products. ENCODING is a name
    (see `posenc list`), an expression such as "RoPE(64, base=5e5)", a model's config.json,
    package.module:name, or a name defined in a --load file.

    Warns if the numbers are unreliable, because the machine is busy or the rounds disagree.

    \b
    posenc bench --quick
    posenc bench --peers --only prefill --picture bench.png
    posenc bench rope alibi

    \b
    --json prints {"machine": {"load", "cores", "busy", "cpu", "simd", "threads", "system",
    "python", "torch", "posenc", "kernels"}, "benchmarks": [{"name", "family", "size",
    "group", "what", "rounds", "rows": {NAME: {"seconds", "ratio", "error", "spread",
    "steady", "ours", "source"}}, "missing": {NAME: why}, "notes", "wrong", "others"}],
    "bars": [{"claim", "case", "entry", "against", "kind", "limit", "measured", "met",
    "steady"}], "growth": {FAMILY: {NAME: {"sizes", "seconds", "power"}}}, "wrong",
    "trusted"};
    for encodings {"encodings": {NAME: {"tokens", "heads", "dim", "seconds", "ratio",
    "error", "bytes", "power", "steady"}}, "machine": {"load", "cores", "busy"},
    "trusted"}, with seconds and bytes per token.
    """
    if names or files:
        reject_options(("quick", "peers", "only", "picture"), "cannot be used with an ENCODING")
        _time_encodings(names, files, 9 if rounds is None else rounds, as_json=as_json)
    else:
        _run_benchmarks(quick, peers, only, rounds, picture, as_json=as_json)


def _run_benchmarks(
    quick: bool,
    peers: bool,
    only: tuple[str, ...],
    rounds: int | None,
    picture: str | None,
    *,
    as_json: bool,
) -> None:
    from posenc.bench.case import Request
    from posenc.bench.cases import choose
    from posenc.bench.report import format_run
    from posenc.bench.run import run_cases
    from posenc.core import rules

    draw = _import_drawing() if picture else None
    if rounds is not None:
        call_library(rules.whole, "rounds", rounds, least=1)
    cases = call_library(choose, only, quick=quick)
    if not cases:
        raise click.UsageError(f"--quick has no benchmark called {' or '.join(only)}")
    data = run_cases(cases, Request(quick, peers), rounds=rounds, progress=_report_progress)
    print_data(data, format_run(data), as_json=as_json)
    if draw:
        with report_unwritable(picture, "--picture"):
            call_library(draw, data, picture)
    if not as_json:
        warn_if_busy(data["machine"])
    elif not data["trusted"]:
        click.echo("Unreliable timings: see `steady` of each row.", err=True)
    if data["wrong"]:
        raise click.ClickException("; ".join(data["wrong"]))


def _import_drawing() -> Any:
    try:
        from posenc.bench.picture import draw_run
    except ModuleNotFoundError as error:
        raise describe_missing(error, "draw") from error
    return draw_run


def _report_progress(done: int, count: int, case: Case) -> None:
    click.echo(f"[{done + 1}/{count}] {case.group}: {case.what}", err=True)


def _time_encodings(
    names: tuple[str, ...], files: tuple[str, ...], rounds: int, *, as_json: bool
) -> None:
    use_one_thread()
    from posenc.bench.costs import measure
    from posenc.bench.timing import STEADY, machine_load

    before = machine_load()
    subjects = resolve_names(*select_encodings(names, files))
    costs = {name: call_library(measure, e, rounds=rounds) for name, e in subjects.items()}
    lines = [f"{'per token':<28} {'time':>11} {'to q k^T':>8}  {'memory':>9}  error"]
    for name, cost in costs.items():
        times = f"{cost.seconds * 1e6:8.2f} us {cost.ratio:8.2f}"
        mark = "" if cost.steady else "  unsteady"
        lines.append(f"{name:<28} {times}  {cost.bytes:7,.0f} B  {cost.error:.1e}{mark}")
    unsteady = sum(not cost.steady for cost in costs.values())
    data = {
        "encodings": {name: asdict(cost) for name, cost in costs.items()},
        "machine": before,
        "trusted": not (unsteady or before["busy"]),
    }
    print_data(data, lines, as_json=as_json)
    if as_json:
        return
    warn_if_busy(before)
    if unsteady:
        click.echo(
            f"Unreliable timings: {unsteady} of {len(costs)} rows are unsteady. The middle half "
            "of their rounds, or of the rounds they are compared with, spreads by more than "
            f"{STEADY:.0%}."
        )
