"""docs/cli.md, out of the help of every command; `make cli-page` writes it."""

from pathlib import Path

import click

from posenc.cli import main

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = """# The command line

Made by `make cli-page` from the help of every command; a test holds it to that. What a command
finds goes to stdout, what it says while it works to stderr. With `--json` stdout is one JSON
object, which the help of the command describes. Exit codes:

| code | meaning |
|---|---|
| 0 | done |
| 1 | a claim failed its check, or the work failed; a library that is missing is named |
| 2 | wrong usage, said in a sentence |
| 130 | stopped by Ctrl-C |
"""


def commands(group: click.Group, name: str):
    """Every command with its full name, groups before what is in them."""
    yield name, group
    for inner, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {inner}")
        else:
            yield f"{name} {inner}", command


def page() -> str:
    parts = [HEAD]
    for name, command in commands(main, "posenc"):
        # click keeps the first help option that it made, maybe for a test that ran a command alone
        command._help_option = None
        context = click.Context(
            command, info_name=name, terminal_width=88, help_option_names=["-h", "--help"]
        )
        told = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        parts.append(f"## {name}\n\n```\n{told}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
