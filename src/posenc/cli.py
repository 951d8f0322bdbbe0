"""The command line. Data goes to stdout, messages to stderr; 2 is the exit code of wrong usage."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import click
import numpy as np

import posenc
from posenc.text import tokens as tokenise

MECHANISMS = (posenc.Additive, posenc.Rotary, posenc.Bias, posenc.Scores)

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(posenc.__version__)
def main() -> None:
    """Transformer positional encodings: use them, measure them, see them."""


@main.command("list")
@as_json
def list_encodings(as_json: bool) -> None:
    """List the encodings, where each acts, and its parameters."""
    rows = {name: _described(encoding) for name, encoding in _usage(posenc.catalogue).items()}
    if as_json:
        click.echo(json.dumps({"encodings": rows}))
        return
    for name, row in rows.items():
        click.echo(f"{name:<18} {row['acts']:<9} {', '.join(row['parameters'])}")


@main.command()
@click.argument("sentence")
@click.option("--encoding", "name", default="sinusoidal", show_default=True, help="Its name.")
@click.option("--dim", default=64, show_default=True, help="Channels of the encoding.")
@click.option("--seed", default=0, show_default=True, help="For encodings that are learned.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write: .png, .svg or .pdf. [default: posenc-NAME.png]",
)
@as_json
def show(sentence: str, name: str, dim: int, seed: int, out: Path | None, as_json: bool) -> None:
    """Draw the encoding of SENTENCE, a row for each token.

    \b
    posenc show "我 爱 学习 AI"
    posenc show "the dog bit the man" --dim 128 --out dog.svg
    """
    from posenc.views import heatmap

    words = tokenise(sentence)
    if not words:
        raise click.BadParameter("the sentence has no tokens", param_hint="SENTENCE")
    encoding = _for_sentence(name, dim=dim, length=len(words))
    params = encoding.init(np.random.default_rng(_usage(lambda: _whole_seed(seed))))
    view = _usage(lambda: heatmap(encoding, words, params))
    if as_json:
        if out is not None:
            raise click.UsageError("--json prints the data and draws nothing; leave out --out")
        click.echo(json.dumps(view.to_json()))
        return
    path = out or Path(f"posenc-{name}.png")
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise click.BadParameter(f"must end in .png, .svg or .pdf; got {path}", param_hint="--out")
    try:
        from posenc.figures import draw
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f'{error.name} is not installed; figures need: pip install "posenc[plot]"'
        ) from error
    try:
        notes = draw(view, path)
    except OSError as error:
        raise click.BadParameter(
            f"cannot write {path}: {error.strerror}", param_hint="--out"
        ) from error
    for note in notes:
        click.echo(note, err=True)
    click.echo(path)


@main.command()
@click.option("--rounds", default=9, show_default=True, help="Interleaved rounds; medians count.")
@as_json
def bench(rounds: int, as_json: bool) -> None:
    """Time posenc against the straightforward form, after checking both for correctness."""
    try:
        from posenc.bench import attentions, rotations, tables
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f'{error.name} is not installed; benchmarks need: pip install "posenc[torch]"'
        ) from error
    results = [
        _usage(lambda part=part: part.measure(rounds=rounds))
        for part in (tables, rotations, attentions)
    ]
    if as_json:
        click.echo(json.dumps({"benchmarks": results}))
        return
    for result in results:
        click.echo(f"{result['what']:<28} {'median':>11} {'ratio':>6}  largest error")
        for name, row in result["rows"].items():
            milliseconds, ratio, error = row["seconds"] * 1e3, row["ratio"], row["error"]
            click.echo(f"{name:<28} {milliseconds:8.1f} ms {ratio:6.2f}  {error:.1e}")


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME | package.module:name | config.json]...")
@click.option("--load", "files", multiple=True, help="A Python file with encodings of your own.")
@click.option("--all", "every", is_flag=True, help="Every encoding that has a name.")
@click.option("--seed", default=0, show_default=True, help="For what is drawn.")
@click.option("--limit", default=20.0, show_default=True, help="Seconds for each check.")
@as_json
def check(
    names: tuple[str, ...],
    files: tuple[str, ...],
    every: bool,
    seed: int,
    limit: float,
    as_json: bool,
) -> None:
    """Measure whether encodings are sound; the exit code is 1 if a claim fails.

    \b
    posenc check rope alibi
    posenc check --load mine.py
    posenc check llama/config.json
    """
    from posenc.checks import found

    subjects: dict[str, posenc.Encoding] = {}
    for name in (*posenc.catalogue(), *names) if every else names:
        subjects |= _usage(lambda name=name: found.found(name))
    for file in files:
        subjects |= _usage(lambda file=file: found.loaded(file))
    if not subjects:
        raise click.UsageError("name an encoding, or give --load FILE or --all")
    reports: dict[str, posenc.Report] = {}
    for count, (name, encoding) in enumerate(subjects.items(), start=1):
        click.echo(f"[{count}/{len(subjects)}] {name}", err=True)
        with redirect_stdout(sys.stderr):  # what an encoding prints is no data of ours
            reports[name] = _usage(
                lambda encoding=encoding: posenc.check(encoding, seed=seed, limit=limit)
            )
        if not as_json:
            click.echo(str(reports[name]))
    if as_json:
        told = {name: report.to_json() for name, report in reports.items()}
        click.echo(
            json.dumps({"ok": all(report.ok for report in reports.values()), "reports": told})
        )
    if not all(report.ok for report in reports.values()):
        raise SystemExit(1)


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH [PATH2]")
@click.option("--layer", type=int, help="Only this layer, from 0.")
@as_json
def config(paths: tuple[str, ...], layer: int | None, as_json: bool) -> None:
    """Tell what a model does about positions, from its config.json; or what two do differently.

    \b
    posenc config llama/config.json
    posenc config llama/config.json qwen/config.json
    """
    from posenc.interop.describe import compare, describe

    if len(paths) > 2:
        raise click.UsageError(f"one path, or two to compare; got {len(paths)}")
    models = [_usage(lambda path=path: posenc.read_config(path)) for path in paths]
    for model in models:
        if layer is not None and not 0 <= layer < len(model.layers):
            raise click.UsageError(
                f"--layer must be one of 0 .. {len(model.layers) - 1}; got {layer}"
            )
    told = [describe(model, layer=layer) for model in models]
    rows = compare(*told) if len(told) == 2 else None
    if as_json:
        click.echo(json.dumps(told[0] if rows is None else {"models": told, "differences": rows}))
        return
    for line in _model_lines(told[0]) if rows is None else _difference_lines(rows):
        click.echo(line)


def _model_lines(told: dict[str, Any]) -> Iterator[str]:
    length = told["trained_length"]
    trained = "unknown" if length is None else f"{length:,}"
    yield f"{told['model_type']}: {told['layers']} layers, trained length {trained}"
    for group in told["groups"]:
        yield f"layers {group['where']}: {group['encoding']}"
        if "pairing" in group:
            base = f"base {group['base']:,.10g}, " if "base" in group else ""
            channels = f"{group['rotary_dim']} of {group['dim']} channels turn"
            yield f"  {base}{channels}, pairing {group['pairing']}"
            wave = group["longest_wavelength"]
            if wave is not None and length is not None:
                turns = f"{group['full_turns']} of {group['pairs']}"
                yield f"  {turns} pairs complete a turn within {trained} tokens"
            if wave is not None:
                yield f"  longest wavelength: {wave:,.1f} tokens"
            if group["still_pairs"]:
                yield f"  {group['still_pairs']} pairs do not turn"
            if "scaling" in group:
                yield f"  scaling: {group['does']}"
            yield f"  attention factor: {group['attention_factor']:.6g}"
        yield f"  beyond the trained length: {group['beyond']}"
    for note in told["notes"]:
        yield f"note: {note}"


def _difference_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "no difference"
    for row in rows:
        where = f" ({row['where']})" if row["where"] else ""
        yield f"{row['what']}{where}: {row['first']} | {row['second']}"
        yield f"  {row['means']}"


def _described(encoding: type[posenc.Encoding]) -> dict[str, Any]:
    mechanism = next(kind for kind in MECHANISMS if issubclass(encoding, kind))
    names = [field.name for field in fields(cast(Any, encoding)) if field.init]
    return {"acts": mechanism.__name__.lower(), "parameters": names}


def _for_sentence(name: str, *, dim: int, length: int) -> posenc.Additive:
    """The encoding of this name, made for a sentence of this length."""
    encoding = _usage(lambda: posenc.named(name))
    names = _described(encoding)["parameters"]
    if not issubclass(encoding, posenc.Additive) or "axes" in names:
        raise click.BadParameter(
            f"{name!r} does not encode the tokens of a sentence one by one", param_hint="--encoding"
        )
    wanted = {key: value for key, value in (("dim", dim), ("length", length)) if key in names}
    return _usage(lambda: encoding(**wanted))


def _whole_seed(seed: int) -> int:
    if seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0; got seed={seed}")
    return seed


def _usage(work: Callable[[], Any]) -> Any:
    """Run `work`; what the library says of a wrong argument is a usage error."""
    try:
        return work()
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


if __name__ == "__main__":
    main()
