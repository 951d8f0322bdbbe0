"""`posenc lab`: train short, test long."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posenc.cli import options
from posenc.cli.timing import use_one_thread
from posenc.cli.usage import call_library, print_data, report_unwritable
from posenc.i18n import Language

if TYPE_CHECKING:
    from collections.abc import Callable

    from posenc.lab.driver import Progress
    from posenc.lab.engines import Event
    from posenc.lab.results import Results

ENDINGS = (".html", ".png", ".svg", ".pdf", ".csv", ".parquet")
PERIOD = 30.0
"""Seconds between lines of progress that do not go to a terminal."""


@click.group()
def lab() -> None:
    """Train small models with each encoding, test them on longer inputs.

    \b
    posenc lab run --quick
    posenc lab run --protocol press --seeds 3
    posenc lab run --tasks sort --encodings rope,alibi,mine.py:Mine --train-length 32
    posenc lab report runs/
    """


def _split(_ctx: click.Context, _param: click.Parameter, text: str | None) -> list[str] | None:
    """Names between commas; a comma inside brackets belongs to an expression."""
    if text is None:
        return None
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _check_files(
    _ctx: click.Context, _param: click.Parameter, files: tuple[str, ...]
) -> tuple[str, ...]:
    for file in files:
        if Path(file).suffix not in ENDINGS:
            raise click.BadParameter(f"must end in {', '.join(ENDINGS)}; got {file!r}")
    return files


@lab.command()
@click.option(
    "--encodings",
    callback=_split,
    metavar="NAME,…",
    help="Names, expressions, package.module:name or file.py:Name, each perhaps with @offsets or "
    "@randomised.  [default: those of the protocol]",
)
@click.option("--tasks", callback=_split, metavar="NAME,…", help="Tasks; see `posenc lab list`.")
@click.option("--protocol", metavar="NAME", help="Whose sizes and lengths.  [default: own]")
@click.option("--quick", is_flag=True, help="Short for --protocol quick: some minutes.")
@click.option("--seeds", default=3, show_default=True, help="Runs of each.")
@click.option("--train-length", metavar="N|A-B", help="Train on examples up to N long, or A to B.")
@click.option("--test-lengths", callback=_split, metavar="N,A-B,…", help="Test at these lengths.")
@click.option("--steps", type=int, help="Training steps, at most.")
@click.option("--layers", type=int, help="Layers of the model.")
@click.option("--heads", type=int, help="Attention heads.")
@click.option("--width", type=int, help="Channels of an embedding.")
@click.option("--batch", type=int, help="Examples in a step.")
@click.option(
    "--init",
    type=click.Choice(("unit", "gpt2")),
    help="First weights: embeddings of unit size, or small weights and a tied head as in GPT-2.",
)
@click.option("--fit", type=float, help="Part of right answers that counts as trained, 0 to 1.")
@click.option("--limit", type=int, help="Draw @randomised positions below this.")
@click.option(
    "--extensions", callback=_split, metavar="NAME,…", help="Scalings to test RoPE under."
)
@click.option("--minutes", type=float, help="End after so long; the same command goes on.")
@click.option("--engine", default="local", show_default=True, help="Where runs run: local or ray.")
@click.option("--address", metavar="HOST:PORT", help="A Ray cluster.  [default: one started here]")
@click.option(
    "--processes",
    type=int,
    help="Runs at once, one thread each.  [default: cores, with --address those of the cluster]",
)
@click.option("--out", default="runs", show_default=True, metavar="DIR", help="Directory of runs.")
@options.lang
@options.as_json
def run(
    protocol: str | None,
    quick: bool,
    train_length: str | None,
    test_lengths: list[str] | None,
    minutes: float | None,
    engine: str,
    address: str | None,
    processes: int | None,
    out: str,
    lang: Language,
    as_json: bool,
    **given: Any,
) -> None:
    """Train what is not in DIR yet, print the report, and write DIR/report.html.

    Each run is a directory of DIR, named by the hash of its settings. A run that was interrupted,
    by Ctrl-C, --minutes or otherwise, goes on where it was with the same command.

    \b
    --json prints {"tables": [{"protocol", "task", "metric", "train_lengths", "rows":
    [{"encoding", "seeds", "trained", "place", "in_length", "beyond": [{"lengths",
    "values", "mean", "half", "refused"}], "paper", "seconds"}]}],
    "failures": [{"run", "error"}], "differing"}.
    """
    use_one_thread()
    from posenc import lab as library
    from posenc.lab.grid import parse_lengths, plan

    if quick and protocol not in (None, "quick"):
        raise click.UsageError(f"--quick cannot be combined with --protocol {protocol}")
    wanted = {name: value for name, value in given.items() if value is not None}
    if train_length is not None:
        wanted["train_length"] = call_library(parse_lengths, train_length)
    if test_lengths is not None:
        wanted["test_lengths"] = [call_library(parse_lengths, each) for each in test_lengths]
    chosen = "quick" if quick else protocol or "own"
    grid = call_library(plan, protocol=chosen, **wanted)
    try:
        results = call_library(
            library.run,
            grid,
            out=out,
            minutes=minutes,
            engine=engine,
            address=address,
            processes=processes,
            tell=_make_teller(),
        )
    except OSError as error:
        kept = f"; what was finished is in {out}" if _has_runs(out) else ""
        raise click.UsageError(f"cannot write {out}: {error.strerror or error}{kept}") from error
    except KeyboardInterrupt:
        click.echo(file=sys.stderr)
        if _has_runs(out):
            _print(call_library(library.report, out), lang, as_json=as_json)
            _write_page(out, lang)
        raise
    _print(results, lang, as_json=as_json)
    _write_page(out, lang)
    if left := len(grid) - len(results.records) - len(results.failures):
        click.echo(
            f"time is up, {left} of {len(grid)} runs are left; the same command goes on", err=True
        )
    if results.failures:
        raise SystemExit(1)


def _write_page(out: str, lang: Language) -> None:
    """The page of all runs in the directory, beside them."""
    from posenc import lab as library
    from posenc.lab.page import write_page

    path = Path(out) / "report.html"
    with report_unwritable(path):
        path.write_text(write_page(library.report(out), lang=lang), encoding="utf-8")
    click.echo(f"report of all runs in {out}: {path}", err=True)


def _has_runs(path: str) -> bool:
    from posenc.lab.store import Store

    try:
        return bool(Store(path).list_finished())
    except (ValueError, OSError):
        return False


def _print(results: Results, lang: Language, *, as_json: bool) -> None:
    from posenc.lab.terminal import format_results

    print_data(results.to_json(), [format_results(results, lang=lang)], as_json=as_json)


def _make_teller() -> Callable[[Progress, Event], None]:
    """Progress on stderr: one line that changes in a terminal, else a line now and then."""
    live, told = sys.stderr.isatty(), -PERIOD

    def tell(progress: Progress, event: Event) -> None:
        nonlocal told
        from posenc.lab.driver import format_seconds
        from posenc.lab.record import Failure

        if isinstance(event, Failure):
            click.echo(f"{event.settings.label} failed: {event.error}", err=True)
        if not live and time.monotonic() - told < PERIOD and progress.done < progress.total:
            return
        told = time.monotonic()
        left = progress.seconds_left
        rest = "" if left is None else f", {format_seconds(left)} left"
        line = f"{progress.done} of {progress.total} runs{rest}"
        click.echo(f"\r{line:<60}" if live else line, err=True, nl=not live)
        if live and progress.done == progress.total:
            click.echo(err=True)

    return tell


@lab.command()
@click.argument("directories", nargs=-1, required=True, metavar="DIR...")
@click.option(
    "-o",
    "--out",
    "files",
    multiple=True,
    callback=_check_files,
    metavar="FILE",
    help="Write .html (in four languages), .png, .svg, .pdf, .csv or .parquet. Can be repeated.",
)
@click.option("--tensorboard", metavar="FOLDER", help="Write curves and scores for TensorBoard.")
@click.option("--trackio", metavar="PROJECT", help="Log curves and scores to trackio.")
@click.option("--dark", is_flag=True, help="Draw pictures on a dark background.")
@options.lang
@options.as_json
def report(
    directories: tuple[str, ...],
    files: tuple[str, ...],
    tensorboard: str | None,
    trackio: str | None,
    dark: bool,
    lang: Language,
    as_json: bool,
) -> None:
    """Print what the runs of directories say together.

    Directories of several machines are merged; a run that is in several counts once.

    --json prints the same object as `posenc lab run`.
    """
    from posenc import lab as library
    from posenc.lab import exports

    results = call_library(library.report, *directories)
    for file in files:
        with report_unwritable(file):
            call_library(_write, results, Path(file), lang, dark=dark)
    if tensorboard is not None:
        with report_unwritable(tensorboard, "--tensorboard"):
            exports.write_tensorboard(results.records, Path(tensorboard))
    if trackio is not None:
        call_library(exports.log_to_trackio, results.records, trackio)
    _print(results, lang, as_json=as_json)


def _write(results: Results, path: Path, lang: Language, *, dark: bool) -> None:
    """Write a file of the kind that its name says."""
    from posenc.lab import exports

    if path.suffix == ".html":
        from posenc.lab.page import write_page

        path.write_text(write_page(results, lang=lang), encoding="utf-8")
    elif path.suffix == ".csv":
        path.write_text(exports.write_csv(results.records), encoding="utf-8")
    elif path.suffix == ".parquet":
        exports.write_parquet(results.records, path)
    else:
        from posenc.lab.picture import build_view
        from posenc.plot.drawing import draw

        draw(build_view(results, lang=lang), lang=lang, dark=dark).savefig(path)


@lab.command("list")
@options.as_json
def list_names(as_json: bool) -> None:
    """List tasks and protocols.

    --json prints {"tasks": {NAME: {"summary", "length", "source"}}, "protocols": {NAME:
    {"about", "source", "tasks": {TASK: [ENCODING]}}}}.
    """
    from posenc.lab.protocols import PROTOCOLS
    from posenc.lab.tasks import TASKS

    data = {
        "tasks": {
            name: {"summary": task.summary, "length": task.length, "source": task.source}
            for name, task in TASKS.items()
        },
        "protocols": {
            name: {
                "about": each.about,
                "source": each.source,
                "tasks": {task: list(encodings) for task, encodings in each.tasks.items()},
            }
            for name, each in PROTOCOLS.items()
        },
    }
    lines = ["tasks"]
    lines += [f"  {name:<18} {task.summary}" for name, task in TASKS.items()]
    lines += ["", "protocols"]
    lines += [f"  {name:<18} {each.about}" for name, each in PROTOCOLS.items()]
    print_data(data, lines, as_json=as_json)
