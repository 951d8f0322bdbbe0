"""What is said names only what exists: commands, their options, extras, files to install from."""

import ast
import re
import tomllib
from functools import cache, partial
from pathlib import Path

import pytest

from posenc.cli import main
from posenc.i18n import LANGUAGES, catalogue
from tests.cli.page import walk_commands

ROOT = Path(__file__).parents[2]
COMMANDS = {
    name.removeprefix("posenc").strip(): each for name, each in walk_commands(main, "posenc")
}
OPTIONS = {
    name: {
        "-h",
        "--help",
        *(o for param in each.params for o in (*param.opts, *param.secondary_opts)),
    }
    for name, each in COMMANDS.items()
}
EVERY = set().union(*OPTIONS.values())


@cache
def strings(path):
    """Every string in a Python file: messages, help, docstrings, and the parts of f-strings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


SAID = {
    **{
        str(path.relative_to(ROOT)): partial(strings, path)
        for path in sorted((ROOT / "src" / "posenc").rglob("*.py"))
    },
    **{lang: lambda lang=lang: [*catalogue(lang).values()] for lang in LANGUAGES},
}
"""How to read what is said, file by file; not while tests are collected, for that takes seconds."""
PAGES = {
    path.name: path.read_text(encoding="utf-8").splitlines()
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(
    r"(?:`|^ *|/bin/|to show the encoding: )posenc ([a-z][a-z-]*)([^`#]*)", re.MULTILINE
)


def wrong_commands(text):
    """The commands in a text that are not there, and options that the command has not."""
    for name, rest in COMMAND.findall(text):
        if name == "explorer":  # the name of the page
            continue
        if name not in COMMANDS:
            yield f"posenc {name}"
            continue
        line = re.sub(r'"[^"]*"', "", rest.split("\n")[0].split("   ")[0])
        inner = f"{name} {line.split()[0]}" if line.split() else name  # a command of a group
        full = inner if inner in COMMANDS else name
        yield from (f"posenc {full} {o}" for o in OPTION.findall(line) if o not in OPTIONS[full])


def test_the_walk_finds_what_is_wrong():
    """As `posenc config` once advised an option that it did not have."""
    assert list(wrong_commands("try `posenc conf a.json`")) == ["posenc conf"]
    assert list(wrong_commands("  posenc show rope --encoding x")) == ["posenc show --encoding"]
    assert list(wrong_commands("  posenc lab run --quic")) == ["posenc lab run --quic"]
    assert not list(wrong_commands('  posenc show rope --text "--x"  # and --y'))


@pytest.mark.parametrize("name", SAID)
def test_messages_name_commands_and_options_that_exist(name):
    for text in SAID[name]():
        assert list(wrong_commands(text)) == [], text
        assert set(OPTION.findall(text)) <= EVERY, text


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_help_opens_it_closes(name):
    """As the JSON of bench once did not: it had one brace too many."""
    opened: list[str] = []
    for bracket in re.findall(r"[][{}()]", COMMANDS[name].help or ""):
        if bracket in "[{(":
            opened.append(bracket)
        else:
            assert opened
            assert opened.pop() + bracket in ("[]", "{}", "()")
    assert not opened


@pytest.mark.parametrize("name", PAGES)
def test_pages_name_commands_and_options_that_exist(name):
    assert [found for line in PAGES[name] for found in wrong_commands(line)] == []


@cache
def extras_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return frozenset(project["optional-dependencies"])


@pytest.mark.parametrize("name", [*SAID, *PAGES])
def test_what_is_to_be_installed_can_be(name):
    """Nothing is published: an extra is installed from a clone."""
    for text in SAID[name]() if name in SAID else PAGES[name]:
        assert "posenc[" not in text, text
        extras = re.findall(r"pip install ['\"]\.\[([a-z,]+)\]", text)
        assert {each for some in extras for each in some.split(",")} <= extras_there()
