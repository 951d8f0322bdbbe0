"""The commands `posenc lab run`, `report` and `list`."""

import json

import pytest

from posenc.lab import ENGINES
from posenc.lab.engines import Advance
from posenc.lab.record import Failure
from posenc.lab.store import Store
from posenc.lab.training import run_settings
from tests.lab.runs import make_record

SMALL = (
    *("--tasks", "repeat-copy", "--steps", "4", "--train-length", "4", "--test-lengths", "5-8"),
    *("--layers", "1", "--heads", "2", "--width", "16", "--batch", "4", "--seeds", "1"),
)


@pytest.fixture
def made(monkeypatch):
    """Runs that the engine was asked for; it makes them in this process."""
    asked = []

    def run_here(todo, store, *, processes):
        for settings in todo:
            asked.append(settings.label)
            yield Advance(settings, 1, 0.5)
            yield run_settings(settings)

    monkeypatch.setitem(ENGINES, "local", run_here)
    return asked


def test_a_grid_is_run_once_and_reported_again(run, made, tmp_path):
    command = ("lab", "run", *SMALL, "--encodings", "rope, RoPE(8, base=100.0)")
    first = run(*command)
    assert first.exit_code == 0
    assert made == ["rope", "RoPE(8, base=100.0)"]
    assert first.stdout.startswith("repeat-copy (own), trained at 1-4: answers that are right")
    assert "0 of 2 runs" in first.stderr
    assert "2 of 2 runs" in first.stderr
    assert first.stderr.endswith("report of all runs in runs: runs/report.html\n")
    assert "repeat-copy" in (tmp_path / "runs" / "report.html").read_text()
    again = run(*command)
    assert (again.stdout, len(made)) == (first.stdout, 2)
    assert run("lab", "report", "runs", "runs/").stdout == first.stdout
    assert run("lab", "report", "runs", "--lang", "ja", "-o", "ja.html").exit_code == 0
    assert 'id="lang-ja" checked>' in (tmp_path / "ja.html").read_text()
    data = json.loads(run("lab", "report", "runs", "--json").stdout)
    assert [row["encoding"] for row in data["tables"][0]["rows"]]
    other = run("lab", "run", *SMALL, "--encodings", "nope", "--json")
    rows = json.loads(other.stdout)["tables"][0]["rows"]
    assert [row["encoding"] for row in rows] == ["nope"], "the runs of this command alone"


def test_a_report_is_written_in_other_forms(run, tmp_path):
    store = Store.create(tmp_path / "runs")
    store.write(make_record(exact=0.1))
    none = run("lab", "report", "runs", "--out", "a.svg")
    assert none.exit_code == 2
    assert "there is no run to draw" in none.stderr
    store.write(make_record(seed=1))
    files = ("a.html", "a.svg", "a.csv")
    result = run(
        *("lab", "report", "runs", "--dark", "--tensorboard", "board"),
        *(part for file in files for part in ("--out", file)),
    )
    assert result.exit_code == 0
    assert [(tmp_path / file).read_text()[:5] for file in files] == ["<!doc", "<?xml", "run,p"]
    assert len([*(tmp_path / "board").rglob("events.out.tfevents.*")]) == 2
    for option in (("--out", "a.parquet"), ("--trackio", "mine")):
        absent = run("lab", "report", "runs", *option)
        assert absent.exit_code == 2
        assert "needs" in absent.stderr
    missing = run("lab", "report", "runs", "--out", "no/such/a.csv")
    assert missing.exit_code == 2
    assert "cannot write no/such/a.csv: No such file or directory" in missing.stderr


def test_an_encoding_of_ones_own_is_run_and_run_again_once_it_changes(run, made, tmp_path):
    (tmp_path / "mine.py").write_text("from posenc import ALiBi\nmine = ALiBi(2)\n")
    command = ("lab", "run", *SMALL, "--encodings", "mine.py:mine")
    assert run(*command).exit_code == 0
    (tmp_path / "mine.py").write_text("from posenc import ALiBi\nmine = ALiBi(2)  # better\n")
    assert run(*command).exit_code == 0
    assert made == ["mine.py:mine"] * 2


def test_a_failure_is_told_and_the_exit_code_is_1(run, monkeypatch):
    def fail(todo, store, *, processes):
        yield Failure(todo[0], "it broke")

    monkeypatch.setitem(ENGINES, "local", fail)
    result = run("lab", "run", *SMALL, "--encodings", "rope")
    assert result.exit_code == 1
    assert "rope failed: it broke" in result.stderr
    assert "rope failed: it broke" in result.stdout


def test_ctrl_c_leaves_a_report(run, monkeypatch):
    def stop(todo, store, *, processes):
        yield run_settings(todo[0])
        raise KeyboardInterrupt

    monkeypatch.setitem(ENGINES, "local", stop)
    result = run("lab", "run", *SMALL, "--encodings", "rope,nope")
    assert result.exit_code == 130
    assert "rope" in result.stdout
    assert "runs/report.html" in result.stderr
    assert "interrupted" in result.stderr


def test_time_that_is_up_leaves_a_report(run, made):
    result = run("lab", "run", *SMALL, "--encodings", "rope,nope", "--minutes", "0")
    assert result.exit_code == 0
    assert made == ["rope"]
    assert result.stdout == "No run is finished yet.\n"
    assert "time is up, 2 of 2 runs are left; the same command goes on" in result.stderr


def test_a_full_disk_is_a_sentence(run, made, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    assert run("lab", "run", *SMALL, "--encodings", "nope").exit_code == 0
    monkeypatch.setattr("posenc.lab.store.Store.write", fail)
    result = run("lab", "run", *SMALL, "--encodings", "rope")
    assert result.exit_code == 2
    why = "cannot write runs: No space left on device; what was finished is in runs"
    assert why in result.stderr
    new = run("lab", "run", *SMALL, "--encodings", "rope", "--out", "new")
    assert new.stderr.endswith("cannot write new: No space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--encodings", "ropp"), "no encoding is called 'ropp'; did you mean rope?"),
        (("run", "--tasks", "sorting"), "no task is called 'sorting'; did you mean sort?"),
        (("run", "--protocol", "pres"), "no protocol is called 'pres'; did you mean press?"),
        (("run", "--quick", "--protocol", "press"), "--quick cannot be combined with --protocol"),
        (("run", "--engine", "raj"), "engine must be 'local' or 'ray'; got engine='raj'"),
        (("run", "--address", "a:1"), "address must be None for engine 'local'; got 'a:1'"),
        (("run", "--seeds", "0"), "seeds must be a whole number of at least 1"),
        (("run", "--minutes", "-1"), "minutes must be a finite number of at least 0"),
        (("run", "--processes", "0"), "processes must be a whole number of at least 1"),
        (("run", "--train-length", "x"), "lengths must be numbers such as 64 or ranges"),
        (("run", "--tasks", "masked-lm", "--encodings", "t5"), "t5 is for decoders"),
        (("run", "--fit", "2"), "fit must be a finite number of at least 0 and at most 1"),
        (("run", "--width", "10"), "width must be a multiple of heads"),
        (
            ("run", "--encodings", "rope@randomised", "--limit", "9"),
            "limit must be at least 514 for randomised positions of unique-copy at these lengths",
        ),
        (("run", "--out", "thesis/runs"), "cannot write thesis/runs: Not a directory"),
        (("run", "--out", "foreign"), "foreign must be empty or a directory of runs of the lab"),
        (("run", "--extensions", "yarn", "--encodings", "nope"), "extensions are scalings of"),
        (("report", "absent"), "absent must be a directory of runs of the lab"),
        (("report",), "Missing argument 'DIR...'"),
        (("report", "runs", "--out", "a.doc"), "must end in .html, .png, .svg, .pdf, .csv, .parqu"),
    ],
)
def test_what_is_wrong_is_a_sentence(run, tmp_path, arguments, message):
    (tmp_path / "thesis").write_text("")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.txt").write_text("")
    result = run("lab", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "runs").exists()


def test_tasks_and_protocols_are_listed(run):
    text, data = run("lab", "list").stdout, json.loads(run("lab", "list", "--json").stdout)
    assert "unique-copy" in text
    assert "lacoco" in text
    assert data["tasks"]["sort"]["summary"] == "sort different symbols"
    assert data["protocols"]["quick"]["tasks"] == {"unique-copy": ["learned@offsets", "rope"]}
