"""`posenc help`."""

import json

import click

from posenc.cli.usage import as_json


@click.command("help")
@click.argument("command", required=False)
@as_json
@click.pass_context
def help_of(ctx: click.Context, command: str | None, as_json: bool) -> None:
    """Show the help of a command, or of all.

    \b
    posenc help
    posenc help show

    JSON: {"command", "help"}
    """
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    name, found = "posenc", root.command
    if command is not None:
        name, found = f"posenc {command}", root.command.resolve_command(root, [command])[1]
    assert found is not None  # resolve_command says what is wrong
    text = found.get_help(click.Context(found, info_name=name, help_option_names=["-h", "--help"]))
    click.echo(json.dumps({"command": name, "help": text}) if as_json else text)
