"""Write docs/cli.md from the help of every command: `make cli-page`."""

from pathlib import Path

import click

from posenc.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
HEAD = """# The command line

Generated from the help of every command by `make cli-page`; do not edit. Data goes to stdout,
messages and progress to stderr. With `--json`, stdout is one JSON object, which the help of the
command describes. Exit codes:

| code | meaning |
|---|---|
| 0 | success |
| 1 | a claim fails or is not measured in time, or the command fails; a missing library is named |
| 2 | wrong usage; the message says what is wrong |
| 130 | interrupted by Ctrl-C |
"""


def walk_commands(group: click.Group, name: str):
    """Yield every command with its full name, a group before its commands."""
    yield name, group
    for inner, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from walk_commands(command, f"{name} {inner}")
        else:
            yield f"{name} {inner}", command


def render_page() -> str:
    parts = [HEAD]
    for name, command in walk_commands(main, "posenc"):
        # click caches the help option, which may be that of a test that ran a command by itself
        command._help_option = None
        context = click.Context(
            command, info_name=name, terminal_width=88, help_option_names=["-h", "--help"]
        )
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        parts.append(f"## {name}\n\n```\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
