"""The help of the commands, and docs/cli.md, which is generated from it."""

import json
import re
import sys

import click
import pytest

from posenc.cli import main
from tests.cli.page import PAGE, render_page, walk_commands
from tests.cli.processes import run_python


def test_help_shows_the_help_of_a_command(run):
    assert run("help").stdout == run("--help").stdout.replace("Usage: main", "Usage: posenc")
    told = json.loads(run("help", "show", "--json").stdout)
    assert told["help"] + "\n" == run("help", "show").stdout
    assert "Usage: posenc show" in told["help"]


def test_help_shows_the_examples_line_by_line(run):
    lines = run("show", "--help").stdout.splitlines()
    assert '  posenc show "狗咬了人"' in lines


def leaves():
    return [
        (name, c) for name, c in walk_commands(main, "posenc") if not isinstance(c, click.Group)
    ]


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == render_page(), "make cli-page"


@pytest.mark.parametrize(("name", "command"), leaves())
def test_every_command_has_json_and_help(name, command):
    options = {text for param in command.params for text in param.opts}
    assert "--json" in options
    assert command.help
    assert "--json prints" in command.help  # what the object has
    assert f"## {name}\n" in PAGE.read_text(encoding="utf-8")


HELP = (
    "import sys; old = {*sys.modules}\n"
    "from posenc.cli import main\n"
    "try: main(['--help'], prog_name='posenc')\n"
    "except SystemExit: pass\n"
)


def test_help_imports_nothing_heavy():
    heavy = "numpy", "torch", "matplotlib", "jax", "array_api_compat"
    told = run_python(HELP + f"print([name for name in {heavy} if name in sys.modules])")
    assert told.splitlines()[-1] == "[]"


def test_help_is_quick():
    """Nothing but Python's own, click and ours is loaded for it, and none of what computes."""
    loaded = run_python(HELP + "print(*{*sys.modules} - old)").splitlines()[-1].split()
    assert {name.split(".")[0] for name in loaded} - sys.stdlib_module_names == {"click", "posenc"}
    assert not {
        "posenc.encodings.registry",
        "posenc.core.mechanisms",
        "posenc.views",
        "posenc.checks",
    } & {*loaded}


@pytest.mark.parametrize("command", ["show", "explain"])
def test_a_chinese_sentence_is_written_as_people_write_it(run, command):
    told = run(command, "--help").stdout
    assert "狗咬了人" in told
    assert not re.search(r"[\u4e00-\u9fff] [\u4e00-\u9fff]", told)
