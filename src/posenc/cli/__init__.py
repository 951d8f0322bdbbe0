"""The command line: data goes to stdout, messages to stderr.

Exit codes are 0, 1 if a claim fails or work ends in an error, 2 for wrong usage, 130 if stopped.
The commands import what they need when they run, so that `posenc --help` is quick.
"""

import click

import posenc
from posenc.cli.bench import bench
from posenc.cli.check import check
from posenc.cli.config import config
from posenc.cli.explain import demo, explain
from posenc.cli.listing import list_encodings
from posenc.cli.show import show


class Stoppable(click.Group):
    """A group whose commands end with 130 when Ctrl-C stops them, as shells expect."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(130)


@click.group(cls=Stoppable, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(posenc.__version__)
def main() -> None:
    """Transformer positional encodings: use them, measure them, see them."""


for command in (list_encodings, show, explain, demo, check, config, bench):
    main.add_command(command)
