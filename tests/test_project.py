"""Promises about the project itself: what an import costs, which way imports run."""

import ast
import pickle
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import posenc as pe
from posenc.encodings import BUILTIN
from posenc.encodings.registry import load_builtins
from posenc.i18n import LANGUAGES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "posenc"

LAYERS = [  # each may import from the ones before it
    {"i18n"},
    {"text"},
    {"kernels"},
    {"core"},
    {"scalings"},
    {"layouts"},
    {"encodings"},
    {"temperatures"},
    {"interop"},
    {"names"},
    {"adapt", "checks", "explanation"},
    {"peers"},
    {"jax", "torch", "views"},
    {"models"},
    {"plot"},
    {"lab"},
    {"bench"},
    {"comparison"},
    {"explorer"},
    {"__init__"},
    {"cli"},
]


def python(code):
    """Runs code in a fresh process and returns what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_is_light():
    heavy = "torch", "jax", "matplotlib", "scipy", "click"
    code = f"import sys, posenc; print([name for name in {heavy} if name in sys.modules])"
    assert python(code) == "[]"


def test_import_is_quick():
    """Nothing but Python's own and the package itself is loaded until a name is used."""
    code = "import sys; old = {*sys.modules}; import posenc; print(*{*sys.modules} - old)"
    loaded = {name.split(".")[0] for name in python(code).split()}
    assert loaded - sys.stdlib_module_names == {"posenc"}


def test_everything_public_is_there_and_named():
    assert sorted(pe.__all__) == sorted(set(pe.__all__))
    for name in pe.__all__:
        assert getattr(pe, name).__doc__, name
    public = {name for name in vars(pe) if not name.startswith("_")}
    modules = {path.stem for path in SOURCE.iterdir()}
    assert public - set(pe.__all__) <= modules
    assert sorted([*pe._HOMES, "adapt"]) == pe.__all__
    assert set(pe.__all__) <= set(dir(pe))
    with pytest.raises(AttributeError, match="module 'posenc' has no attribute 'rope'"):
        pe.rope  # noqa: B018


def test_version_is_told_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == pe.__version__


def module_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


PARTS = frozenset(path.stem for path in SOURCE.iterdir())


def imports_of(path):
    """The parts of posenc that a file imports, at the top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("posenc"):
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            yield from (name if name in PARTS else "__init__" for name in names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "posenc":
                    yield (*alias.name.split("."), "__init__")[1]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.name)
def test_imports_run_one_way(path):
    level = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    here = module_of(path)
    for imported in imports_of(path):
        assert imported == here or level[imported] < level[here], f"{here} imports {imported}"


def test_every_file_stands_in_the_drawing_of_the_house():
    drawing = (ROOT / "docs" / "architecture.md").read_text()
    for path in SOURCE.iterdir():
        if path.suffix == ".py" or (path / "__init__.py").exists():
            assert re.search(rf"\b{re.escape(path.name)}\b", drawing), path.name


def mirror(path):
    """The test of a source file, by its name; None of what runs or lists others.

    >>> mirror(SOURCE / "core" / "rules.py").relative_to(ROOT).as_posix()
    'tests/core/test_rules.py'
    >>> mirror(SOURCE / "kernels" / "csrc" / "job.h").name  # compiled into one library
    'test_csrc.py'
    """
    if path.name in ("__init__.py", "__main__.py"):
        return None
    unit = path if path.suffix == ".py" else path.parent
    return ROOT / "tests" / unit.relative_to(SOURCE).parent / f"test_{unit.stem}.py"


def test_every_file_has_a_test_of_its_name():
    written = [path for ending in ("py", "cpp", "h") for path in SOURCE.rglob(f"*.{ending}")]
    missing = {
        f"{path.relative_to(ROOT)} wants {test.relative_to(ROOT)}"
        for path in written
        if (test := mirror(path)) is not None and "def test_" not in _text(test)
    }
    assert not missing, "\n".join(sorted(missing))


def _text(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_type_checkers_know_the_public_names():
    from tests.stub import STUB, build_stub

    assert STUB.read_text() == build_stub(), "run `make stub`"


@pytest.mark.parametrize("name", BUILTIN)
def test_nothing_is_missing_for_a_built_in(name):
    """What its line in `posenc.encodings.BUILTIN` needs elsewhere, and does not have."""
    kind = load_builtins()[name]
    missing = []
    tests = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    against_oracle = [text for text in tests if "from tests.oracles" in text]
    if not any(re.search(rf"\bpe\.{kind.__name__}\b", text) for text in against_oracle):
        missing.append("tests/: a test that compares it with an oracle in tests/oracles/")
    example = kind.example()
    if pickle.loads(pickle.dumps(example)) != example:
        missing.append("pickling: equal fields must make equal encodings")
    if not pe.explain(example).steps:
        missing.append("posenc.explanation: steps")
    about = kind.about
    if not (about.title and about.summary and about.paper and kind.__doc__):
        missing.append(f"{kind.__module__}: a docstring, and about with title, summary and paper")
    assert not missing, f"{name} lacks:\n" + "\n".join(missing)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_readme_lists_the_built_ins(lang):
    from tests.checks.readme_table import build_list, replace_list

    text = (ROOT / ("README.md" if lang == "en" else f"README.{lang}.md")).read_text()
    rows = build_list(lang)
    assert rows in text, "run `make readme-table`"
    assert text == replace_list(text, rows)


def test_the_table_of_properties_is_what_the_checks_find():
    from tests.checks.readme_table import build_table, replace_table

    measured = build_table()
    for language in ("", ".ja", ".zh-Hans", ".zh-Hant"):
        text = (ROOT / f"README{language}.md").read_text()
        assert text == replace_table(text, measured), language


def test_torch_is_pinned_for_every_install():
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().split()
    installs = re.findall(r"pip install[^\n]*", (ROOT / "Makefile").read_text())
    assert installs
    assert all("--constraint constraints.txt" in line for line in installs)


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_the_explorer_is_installed_without_what_only_tests_need():
    """And what tests need is added to it, PyTorch first, without clearing anything."""

    def steps(target):
        command = ["make", "--dry-run", "--always-make", target]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert "--clear" not in done
        return re.findall(r"(?<=constraint constraints.txt ).*", done)

    assert steps("explore") == ["--editable '.[explorer]'"]
    assert steps("test") == [*steps("explore"), "torch==2.13.0", "--editable '.[dev]'"]


@pytest.mark.parametrize("language", ["ja", "zh-Hans", "zh-Hant"])
def test_the_readmes_say_the_same(language):
    """Same code, same links, same headings: only the words differ."""

    def skeleton(text):
        text = re.sub(r"#[^\n]*$", "", text, flags=re.MULTILINE)  # headings and comments
        code = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
        return [re.sub(r"\s+", " ", block) for block in code], re.findall(r"\]\(([^)]*)\)", text)

    original = (ROOT / "README.md").read_text()
    translated = (ROOT / f"README.{language}.md").read_text()
    assert skeleton(translated) == skeleton(original)
    assert translated.count("\n#") == original.count("\n#")
    assert translated.count("|") == original.count("|")


def test_make_quick_has_the_tests_of_every_encoding():
    quick = re.search(r"QUICK := (.*(?:\\\n.*)*)", (ROOT / "Makefile").read_text())[1]
    listed = quick.replace("\\", " ").split()
    assert {"tests/core", "tests/encodings", "tests/names"} <= set(listed)
    assert all((ROOT / name).exists() for name in listed)
