"""`posenc help`."""

import click

from posenc.cli import options
from posenc.cli.usage import print_data


@click.command("help")
@click.argument("command", required=False)
@options.as_json
@click.pass_context
def show_help(ctx: click.Context, command: str | None, as_json: bool) -> None:
    """Show the help for a command, or list all commands.

    \b
    posenc help
    posenc help show

    --json prints {"command", "help"}.
    """
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    name, described = "posenc", root.command
    if command is not None:
        name, described = f"posenc {command}", root.command.resolve_command(root, [command])[1]
    assert described is not None  # resolve_command raises for an unknown name
    context = click.Context(described, info_name=name, help_option_names=["-h", "--help"])
    text = described.get_help(context)
    print_data({"command": name, "help": text}, [text], as_json=as_json)
