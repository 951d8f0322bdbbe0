"""`posenc completion`."""

import json

import click
from click.shell_completion import get_completion_class

from posenc.cli.usage import as_json

HOW = {
    "bash": 'put this into ~/.bashrc: eval "$(posenc completion bash)"',
    "zsh": 'put this into ~/.zshrc: eval "$(posenc completion zsh)"',
    "fish": "posenc completion fish > ~/.config/fish/completions/posenc.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(tuple(HOW)))
@as_json
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print the script that makes a shell complete commands, options and names of encodings.

    \b
    eval "$(posenc completion bash)"      in ~/.bashrc
    eval "$(posenc completion zsh)"       in ~/.zshrc
    posenc completion fish > ~/.config/fish/completions/posenc.fish

    JSON: {"shell", "script", "how"}
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    made = kind(ctx.find_root().command, {}, "posenc", "_POSENC_COMPLETE")
    script = made.source_template % made.source_vars()  # source() would run the shell itself
    if as_json:
        click.echo(json.dumps({"shell": shell, "script": script, "how": HOW[shell]}))
        return
    click.echo(script)
    click.echo(HOW[shell], err=True)
