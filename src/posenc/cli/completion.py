"""`posenc completion`."""

import click
from click.shell_completion import get_completion_class

from posenc.cli import options
from posenc.cli.usage import print_data

SETUP = {
    "bash": 'add to ~/.bashrc: eval "$(posenc completion bash)"',
    "zsh": 'add to ~/.zshrc: eval "$(posenc completion zsh)"',
    "fish": "run: posenc completion fish > ~/.config/fish/completions/posenc.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(tuple(SETUP)))
@options.as_json
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print a shell completion script.

    It completes commands, options and the names of encodings.

    \b
    eval "$(posenc completion bash)"      in ~/.bashrc
    eval "$(posenc completion zsh)"       in ~/.zshrc
    posenc completion fish > ~/.config/fish/completions/posenc.fish

    --json prints {"shell", "script", "how"}; "how" says where to put the script.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    completer = kind(ctx.find_root().command, {}, "posenc", "_POSENC_COMPLETE")
    # source() would run the shell itself
    script = completer.source_template % completer.source_vars()
    data = {"shell": shell, "script": script, "how": SETUP[shell]}
    print_data(data, [script], as_json=as_json)
    if not as_json:
        click.echo(SETUP[shell], err=True)
