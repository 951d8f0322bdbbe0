"""`posenc help`."""

import json

import click

from posenc.cli.options import json_option


@click.command("help")
@click.argument("command", required=False)
@json_option
@click.pass_context
def show_help(ctx: click.Context, command: str | None, as_json: bool) -> None:
    """Show the help of a command, or list all commands.

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
    click.echo(json.dumps({"command": name, "help": text}) if as_json else text)
