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
from posenc.cli.help import help_of
from posenc.cli.info import info
from posenc.cli.listing import list_encodings
from posenc.cli.show import show
from posenc.cli.usage import missing

TRY = """\
posenc: Transformer positional encodings. Try

  posenc explore                         the explorer: type a sentence, see its encoding
  posenc show rope --text "a dog bit me"   a picture, posenc-rope.png
  posenc explain rope                    every step with its numbers
  posenc compare rope alibi              side by side, measured
  posenc list                            every encoding
  posenc help                            all commands
"""


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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or a sentence with the one that was meant."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise click.UsageError(f"no such command: {args[0]}{self._instead(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def _instead(self, name: str) -> str:
        from posenc.core.hints import did_you_mean, nearest
        from posenc.names.resolve import known_name

        near = nearest(name, self.commands)
        if near is None and known_name(name):
            return f"; for the encoding: posenc show {known_name(name)}"
        return did_you_mean(near)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(posenc.__version__)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Transformer positional encodings: use them, measure them, see them.

    Data goes to stdout, messages to stderr. Exit codes: 0; 1 if a claim fails or the work does; 2
    for wrong usage; 130 if stopped by Ctrl-C.
    """
    if ctx.invoked_subcommand is None:
        click.echo(TRY, nl=False)


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
    help_of,
):
    main.add_command(command)
