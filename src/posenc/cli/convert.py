"""`posenc convert`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posenc.cli import options
from posenc.cli.usage import call_library, print_data, report_unwritable

if TYPE_CHECKING:
    from posenc.core.rotation import Pairing
    from posenc.interop.checkpoints.stream import Conversion
    from posenc.interop.checkpoints.verify import Proof

PAIRINGS = click.Choice(("interleaved", "halves"))


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path), metavar="CHECKPOINT")
@click.option(
    "--config",
    "config",
    type=click.Path(exists=True, path_type=Path),
    help="The model's config.json. By default the one beside the checkpoint.",
)
@click.option("--to", required=True, type=PAIRINGS, help="Channel pairing to convert to.")
@click.option(
    "--pairing", type=PAIRINGS, help="Channel pairing of the input, if it is not the model type's."
)
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Output: a file, or a folder for a checkpoint of several files.",
)
@click.option("--force", is_flag=True, help="Overwrite files that hold something else.")
@click.option(
    "--verify",
    is_flag=True,
    help="Compare the logits of both layouts afterwards: those of the model's first layers if "
    "transformers can build it, otherwise those of their attention.",
)
@options.as_json
def convert(
    path: Path,
    config: Path | None,
    to: Pairing,
    pairing: Pairing | None,
    out: Path,
    force: bool,
    verify: bool,
    as_json: bool,
) -> None:
    """Convert a checkpoint from one channel pairing of RoPE to the other.

    CHECKPOINT is a safetensors file, the index of several, or a folder. The rows of query and key
    projections are reordered, with their biases and norms; no value changes. The input is never
    written to. An output file gets its name only once it is complete, so after an interruption the
    same command finishes the job; it keeps a finished file if every byte is what it would write.

    \b
    posenc convert model.safetensors --config config.json --to halves -o out.safetensors
    posenc convert llama/ --to interleaved -o llama-interleaved/

    \b
    --json prints {"to", "files", "tensors", "layers"}, and with --verify {"proof": {"what",
    "layers", "largest", "bound", "wrong"}}. If the logits differ by more than the bound, the exit
    code is 1.
    """
    from posenc.interop.checkpoints.stream import prepare

    if config is None:
        config = (path if path.is_dir() else path.parent) / "config.json"
        if not config.exists():
            raise click.UsageError(f"--config must be given, since there is no {config}")
    conversion = call_library(prepare, path, config, out, to=to, pairing=pairing, force=force)
    if verify:
        _check_verifiable(conversion)
    files = _run(conversion)
    tensors, layers = len(conversion.plan.rows), len(conversion.plan.layers)
    data: dict[str, object] = {
        "to": to,
        "files": [str(file) for file in files],
        "tensors": tensors,
        "layers": layers,
    }
    lines = [
        f"{out}: {tensors} tensors of {layers} layers converted to {to}",
        f"config.json does not name the pairing: run these weights with pairing='{to}'",
    ]
    proof = _verify(conversion, config, files) if verify else None
    if proof is not None:
        data["proof"], lines = vars(proof), [*lines, str(proof)]
    print_data(data, lines, as_json=as_json)
    if proof is not None and not proof.holds:
        raise click.ClickException("the logits of both layouts differ; do not use the output")


def _check_verifiable(conversion: Conversion) -> None:
    """What cannot be verified is said before the work, not after it."""
    from posenc.interop.checkpoints.verify import require_verifiable

    call_library(require_verifiable, conversion.headers, conversion.plan)


def _verify(conversion: Conversion, config: Path, files: list[Path]) -> Proof:
    from posenc.interop.checkpoints.files import read_header
    from posenc.interop.checkpoints.verify import verify_files

    made = [read_header(file) for file in files]
    proof, why = call_library(verify_files, config, conversion.headers, made, conversion.plan)
    if why:
        click.echo(f"comparing attention alone, since the model cannot be run: {why}", err=True)
    return proof


def _run(conversion: Conversion) -> list[Path]:
    whole = sum(header.size for header in conversion.headers)
    shown = click.progressbar(length=whole, label="converting", file=sys.stderr)
    with report_unwritable(conversion.target), shown as bar:
        return call_library(
            conversion.run,
            lambda done, _: bar.update(done - bar.pos),
            kept=lambda place: click.echo(f"kept, every byte compared: {place}", err=True),
        )
