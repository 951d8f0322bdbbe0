"""The command line: data goes to stdout, messages to stderr.

Exit codes: 0 on success, 1 if a claim or the command fails, 2 for wrong usage, 130 if interrupted.
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
from posenc.cli.convert import convert
from posenc.cli.explain import demo, explain
from posenc.cli.explore import explore
from posenc.cli.help import show_help
from posenc.cli.info import info
from posenc.cli.lab import lab
from posenc.cli.listing import list_encodings
from posenc.cli.show import show
from posenc.cli.usage import describe_missing

TRY = """\
posenc: Transformer positional encodings. Try

  posenc explore                           type a sentence in a browser, see its encoding
  posenc show rope --text "a dog bit me"   draw a figure, posenc-rope.png
  posenc explain rope                      work through every step with its numbers
  posenc compare rope alibi                measure encodings side by side
  posenc list                              list all encodings
  posenc help                              list all commands
"""


class Commands(click.Group):
    """A group whose commands exit as shells expect and report errors as one sentence."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(130)
        except ModuleNotFoundError as error:
            raise describe_missing(error) from error
        except OSError as error:  # such as a full disk; click handles a closed pipe
            if error.errno == errno.EPIPE:
                raise
            where = "" if error.filename is None else f": {error.filename}"
            raise click.ClickException(f"{error.strerror or error}{where}") from error
        except ArithmeticError as error:  # a benchmark whose result is wrong is not timed
            raise click.ClickException(str(error)) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; for an unknown name, suggest the one that was probably meant."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise click.UsageError(f"no such command: {args[0]}{self._suggest(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def _suggest(self, name: str) -> str:
        from posenc.core.hints import did_you_mean, nearest
        from posenc.names.resolve import canonical_name

        near = nearest(name, self.commands)
        if near is None and canonical_name(name):
            return f"; to show the encoding: posenc show {canonical_name(name)}"
        return did_you_mean(near)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(posenc.__version__)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Use, check, explain, draw and compare Transformer positional encodings.

    Data goes to stdout, messages to stderr. Exit codes: 0 on success, 1 if a claim or the command
    fails, 2 for wrong usage, 130 if interrupted by Ctrl-C.
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
    convert,
    bench,
    lab,
    info,
    completion,
    show_help,
):
    main.add_command(command)
