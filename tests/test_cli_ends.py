"""How the command line ends: exit codes, closed pipes, Ctrl-C, missing libraries; its help."""

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import EntryPoint, version
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import posenc as pe
from posenc.bench import tables
from posenc.cli import main
from posenc.cli.usage import EXTRAS, complete_name
from posenc.i18n import LANGUAGES
from posenc.names.resolve import SCALED
from tests.cli_page import PAGE, commands, page
from tests.slow import slow

POSENC = [sys.executable, "-m", "posenc.cli"]
info = sys.modules["posenc.cli.info"]  # the module: in the package the name is the command


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, arguments)


def processed(*arguments):
    return subprocess.run([*POSENC, *arguments], capture_output=True, text=True, check=False)


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def leaves():
    return [(name, c) for name, c in commands(main, "posenc") if not isinstance(c, click.Group)]


# Help


def test_the_page_is_the_help():
    assert PAGE.read_text(encoding="utf-8") == page(), "make cli-page"


@pytest.mark.parametrize(("name", "command"), leaves())
def test_every_command_has_json_and_help(name, command):
    options = {text for param in command.params for text in param.opts}
    assert "--json" in options
    assert command.help
    assert "JSON: {" in command.help or "--json prints" in command.help  # what the object has
    assert f"## {name}\n" in PAGE.read_text(encoding="utf-8")


HELP = (
    "import sys; old = {*sys.modules}\n"
    "from posenc.cli import main\n"
    "try: main(['--help'], prog_name='posenc')\n"
    "except SystemExit: pass\n"
)


def test_help_imports_nothing_heavy():
    heavy = "numpy", "torch", "matplotlib", "jax", "array_api_compat"
    told = python(HELP + f"print([name for name in {heavy} if name in sys.modules])")
    assert told.splitlines()[-1] == "[]"


def test_help_is_quick():
    """Nothing but Python's own, click and ours is loaded for it, and none of what computes."""
    loaded = python(HELP + "print(*{*sys.modules} - old)").splitlines()[-1].split()
    assert {name.split(".")[0] for name in loaded} - sys.stdlib_module_names == {"click", "posenc"}
    assert not {"posenc.encodings", "posenc.views", "posenc.checks"} & {*loaded}


# Ends


def test_a_command_that_ends_well_is_0():
    done = processed("list", "--json")
    assert done.returncode == 0
    assert list(json.loads(done.stdout)["encodings"]) == list(pe.catalogue())
    assert done.stderr == ""


MINE = """
from dataclasses import dataclass
import posenc as pe

@dataclass(frozen=True)
class Twice(pe.Rotary):
    dim: int = 4
    traits = pe.Traits(norm_preserving=True)
    def cos_sin(self, positions, *, dtype=None):
        print("turning")
        cos, sin = pe.RoPE(4).cos_sin(positions, dtype=dtype)
        return 2 * cos, 2 * sin
"""


@pytest.mark.parametrize("command", ["check", *slow("compare")])
def test_a_claim_that_fails_is_1_and_the_data_is_there(tmp_path, command):
    (tmp_path / "mine.py").write_text(MINE)
    done = processed(command, "--load", str(tmp_path / "mine.py"), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False
    assert "turning" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("compare",), ("compare", "rop"), ("completion", "tcsh"), ("info", "x"), ("check",), ("x",)],
)
def test_wrong_usage_is_2(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name an encoding, or give --load FILE or --all"),
        (("rop",), "no encoding is called 'rop'; did you mean rope?"),
        (("--load", "none.py"), "file must be a Python file that exists; got none.py"),
        (("nope", "--lang", "fr"), "'fr' is not one of 'en', 'ja', 'zh-Hans', 'zh-Hant'"),
        (("nope", "--format", "html"), "'html' is not one of 'text', 'markdown', 'json'"),
        (("nope", "--limit", "0"), "limit must be a finite number of at least 0.001"),
        (("alibi", "--heads", "0"), "heads must be a whole number of at least 1"),
        (("nope", "--seed", "-1"), "seed must be a whole number of at least 0; got seed=-1"),
    ],
)
def test_compare_says_what_is_wrong(run, arguments, message):
    result = run("compare", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_is_130_without_a_traceback():
    code = (  # what is started in the background ignores the signal, unless told otherwise
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from posenc.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "check", "--all"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    first = process.stderr.readline()  # it is at work
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that it started
    told = process.communicate(timeout=60)[1]
    assert first == "[1/20] sinusoidal\n"
    assert process.returncode == 130
    assert told.endswith("stopped\n")
    assert "Traceback" not in told


def test_ctrl_c_while_a_file_runs_is_130(run, tmp_path):
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt\n")
    for command in ("check", "compare", "show"):
        result = run(command, "--load", "slow.py")
        assert (result.exit_code, result.stderr) == (130, "stopped\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_a_sentence():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*POSENC, "explain", "rope"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "Error: No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("--help",)])
def test_a_closed_pipe_is_no_traceback(arguments):
    process = subprocess.Popen(
        [*POSENC, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()  # before it has said anything
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1)
    assert "Traceback" not in told
    assert "BrokenPipe" not in told


@pytest.mark.parametrize(
    ("library", "arguments"), [("torch", ("bench",)), ("matplotlib", ("show", "a b"))]
)
def test_a_missing_library_is_a_sentence_with_the_command(tmp_path, library, arguments):
    code = f"import sys; sys.modules[{library!r}] = None; from posenc.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert f"{library}" in done.stderr
    assert f"pip install '.[{EXTRAS[library]}]' in a clone of posenc" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_module_that_is_no_extra_of_ours_is_not_explained_away(run, monkeypatch):
    def absent(*args, **kwargs):
        raise ModuleNotFoundError("No module named 'gone'", name="gone")

    monkeypatch.setattr(pe.checks, "check", absent)
    monkeypatch.setattr("posenc.comparison.entry.check", absent)
    assert isinstance(run("compare", "nope").exception, ModuleNotFoundError)


def test_work_that_fails_is_1_and_a_sentence(run, monkeypatch):
    def wrong(**_):
        raise ArithmeticError("posenc: error 1 is above 1e-05; not timed")

    monkeypatch.setattr(tables, "measure", wrong)
    result = run("bench", "--rounds", "1")
    assert result.exit_code == 1
    assert result.stderr == "Error: posenc: error 1 is above 1e-05; not timed\n"


# compare


def test_compare_prints_a_table_and_tells_its_progress(run):
    result = run("compare", "nope", "ALiBi(4)", "--no-bench")
    assert result.exit_code == 0
    assert result.stderr == "nope\nALiBi(4)\n"
    assert "added to logits" in result.stdout
    assert "time per token" not in result.stdout


@pytest.mark.parametrize("form", [(), ("--json",), ("--format", "markdown")])
def test_compare_says_that_a_busy_machine_cannot_be_trusted(run, monkeypatch, form):
    """As bench does; on stderr, for the table and the JSON are data."""
    told = []
    for busy in (True, False):
        machine = {"load": 1.5, "cores": 2, "busy": busy}
        monkeypatch.setattr("posenc.bench.timing.machine", lambda machine=machine: machine)
        told += [run("compare", "nope", *extra, *form) for extra in ((), ("--no-bench",))]
    warning = "Not to be trusted: the load average was 1.5 on 2 cores at the start."
    assert [warning in result.stderr for result in told] == [True, False, False, False]
    assert not any("load average" in result.stdout for result in told)


def test_compare_in_other_forms(run):
    as_json = json.loads(run("compare", "nope", "--no-bench", "--json").stdout)
    assert as_json == json.loads(run("compare", "nope", "--no-bench", "--format", "json").stdout)
    assert as_json["encodings"][0]["name"] == "nope"
    assert as_json["encodings"][0]["cost"] is None
    markdown = run("compare", "nope", "--no-bench", "--format", "markdown").stdout
    assert markdown.startswith("|  | encoding | where it acts |")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_compare_takes_every_language(run, lang):
    result = run("compare", "nope", "--no-bench", "--json", "--lang", lang)
    assert json.loads(result.stdout)["lang"] == lang


def test_compare_takes_sizes_and_configs(run, tmp_path):
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    sizes = ("--dim", "8", "--length", "32", "--heads", "2")
    result = run("compare", "learned", "alibi", "config.json", *sizes, "--no-bench", "--json")
    rows = json.loads(result.stdout)["encodings"]
    assert rows[0]["encoding"] == "Learned(32, 8)"
    assert rows[0]["parameters"]["count"] == 32 * 8
    assert rows[1]["encoding"].startswith("ALiBi(heads=2")
    assert rows[2]["encoding"].startswith("RoPE(dim=16")


# info


def test_info_tells_versions_and_what_is_missing(run, monkeypatch):
    monkeypatch.setattr(info, "EXTRAS", {"torch": "torch", "gone": "plot"})
    told = json.loads(run("info", "--json").stdout)
    assert told["posenc"] == pe.__version__
    assert told["required"] == {name: version(name) for name in told["required"]}
    assert told["optional"]["torch"]["version"] == version("torch")
    assert told["optional"]["gone"] == {
        "version": None,
        "install": "pip install '.[plot]' in a clone of posenc",
    }
    assert told["encodings"] == {"built_in": len(pe.encodings.BUILTIN), "others": {}}
    assert told["cores"] == os.cpu_count()
    assert "gone              not installed: pip install '.[plot]' in a clone" in run("info").stdout


def test_info_names_encodings_of_other_packages(run, monkeypatch):
    theirs = EntryPoint("clock", "clocks:Clock", "posenc.encodings")
    monkeypatch.setattr(info, "entry_points", lambda group: [theirs])
    assert json.loads(run("info", "--json").stdout)["encodings"]["others"] == {
        "clock": "clocks:Clock"
    }
    assert "1 of other packages" in run("info").stdout


@pytest.mark.parametrize(
    ("listed", "line"),
    [
        ("", "none; install the package fonts-noto-cjk"),
        ("Noto Sans CJK JP,Noto Sans CJK JP Bold\n", "Noto Sans CJK JP\n"),
        ("A\nB\nC\nD\nE\n", "A, B, C and 2 more\n"),
    ],
)
def test_info_tells_the_fonts(run, monkeypatch, listed, line):
    monkeypatch.setattr(info.shutil, "which", lambda name: f"/bin/{name}")
    done = subprocess.CompletedProcess([], 0, stdout=listed)
    monkeypatch.setattr(info.subprocess, "run", lambda *args, **kwargs: done)
    assert f"fonts with Han characters: {line}" in run("info").stdout


def test_info_does_without_fontconfig(run, monkeypatch):
    monkeypatch.setattr(info.shutil, "which", lambda name: None)
    assert json.loads(run("info", "--json").stdout)["han_fonts"]["found"] == []


def test_info_imports_no_library_to_tell_its_version():
    heavy = "torch", "jax", "matplotlib", "transformers"
    code = (
        "import sys\nfrom posenc.cli import main\n"
        "try: main(['info'])\nexcept SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert python(code).splitlines()[-1] == "[]"


def test_the_extras_are_those_of_the_package():
    import tomllib

    project = tomllib.loads((PAGE.parent.parent / "pyproject.toml").read_text())["project"]
    for library, extra in EXTRAS.items():
        wanted = project["optional-dependencies"][extra]
        assert any(line.startswith(library) for line in wanted), library


# completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_how_to_use_it(run, shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_POSENC_COMPLETE={shell}_complete" in result.stdout
    assert f"posenc completion {shell}" in result.stderr
    told = json.loads(run("completion", shell, "--json").stdout)
    assert told["shell"] == shell
    assert told["script"] + "\n" == result.stdout


def completed(*words):
    *before, last = words
    found = ShellComplete(main, {}, "posenc", "_POSENC_COMPLETE").get_completions(before, last)
    return [(item.value, item.type) for item in found]


def test_commands_and_names_are_completed():
    assert ("compare", "plain") in completed("com")
    for command in ("check", "compare", "show", "list", "bench"):
        assert completed(command, "rope", "al") == [("alibi", "plain")]
        assert completed(command, "yar") == [("yarn", "plain")]
        assert completed(command, "conf") == [("conf", "file")]
    assert [name for name, _ in completed("check", "")] == [*pe.catalogue(), *SCALED]
    assert completed("show", "rope", "ALI") == [("alibi", "plain")]
    assert completed("compare", "--lang", "zh") == [("zh-Hans", "plain"), ("zh-Hant", "plain")]


def test_completion_of_names_loads_no_package(monkeypatch):
    theirs = EntryPoint("clock", "no_such_package:Clock", "posenc.encodings")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [theirs])
    assert [item.value for item in complete_name(None, None, "clo")] == ["clock"]


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_bash_asks_and_is_answered():
    asked = {"_POSENC_COMPLETE": "bash_complete", "COMP_WORDS": "posenc compare sin"}
    done = subprocess.run(
        [sys.executable, "-c", "from posenc.cli import main; main(prog_name='posenc')"],
        env={**os.environ, **asked, "COMP_CWORD": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "plain,sinusoidal\n"
