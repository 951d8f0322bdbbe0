"""`posenc show`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
from pathlib import Path

import click

import posenc
from posenc.cli.listing import described
from posenc.cli.usage import as_json, usage
from posenc.text import tokens as tokenise


@click.command()
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
    import numpy as np

    from posenc.views import heatmap

    words = tokenise(sentence)
    if not words:
        raise click.BadParameter("the sentence has no tokens", param_hint="SENTENCE")
    encoding = _for_sentence(name, dim=dim, length=len(words))
    params = encoding.init(np.random.default_rng(usage(lambda: _whole_seed(seed))))
    view = usage(lambda: heatmap(encoding, words, params))
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


def _for_sentence(name: str, *, dim: int, length: int) -> posenc.Additive:
    """The encoding of this name, made for a sentence of this length."""
    encoding = usage(lambda: posenc.named(name))
    names = described(encoding)["parameters"]
    if not issubclass(encoding, posenc.Additive) or "axes" in names:
        raise click.BadParameter(
            f"{name!r} does not encode the tokens of a sentence one by one", param_hint="--encoding"
        )
    wanted = {key: value for key, value in (("dim", dim), ("length", length)) if key in names}
    return usage(lambda: encoding(**wanted))


def _whole_seed(seed: int) -> int:
    if seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0; got seed={seed}")
    return seed
