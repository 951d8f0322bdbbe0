"""The command line: data goes to stdout, messages to stderr.

Exit codes are 0, 1 if a claim fails or work ends in an error, 2 for wrong usage, 130 if stopped.
The commands import what they need when they run, so that `posenc --help` is quick.
"""

import errno

import click

import posenc
from posenc.cli.bench import bench
from posenc.cli.check import check
from posenc.cli.compare import compare
from posenc.cli.completion import completion
from posenc.cli.config import config
from posenc.cli.explain import demo, explain
from posenc.cli.explore import explore
from posenc.cli.info import info
from posenc.cli.listing import list_encodings
from posenc.cli.show import show
from posenc.cli.usage import missing


class Commands(click.Group):
    """A group whose commands end as shells expect, and say in a sentence what went wrong."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(130)
        except ModuleNotFoundError as error:
            raise missing(error) from error
        except OSError as error:  # a disk that is full; click ends quietly for a closed pipe
            if error.errno == errno.EPIPE:
                raise
            where = "" if error.filename is None else f": {error.filename}"
            raise click.ClickException(f"{error.strerror or error}{where}") from error
        except ArithmeticError as error:  # a benchmark that is not timed, for it is wrong
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(posenc.__version__)
def main() -> None:
    """Transformer positional encodings: use them, measure them, see them.

    Data goes to stdout, messages to stderr. Exit codes: 0; 1 if a claim fails or the work does; 2
    for wrong usage; 130 if stopped by Ctrl-C.
    """


for command in (
    explore,
    list_encodings,
    show,
    explain,
    demo,
    compare,
    check,
    config,
    bench,
    info,
    completion,
):
    main.add_command(command)
