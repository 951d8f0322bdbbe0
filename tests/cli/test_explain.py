"""The command `posenc explain`."""

import pytest

import posenc as pe


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("x.html", "html"),
        ("x.md", "markdown"),
        ("x.json", "json"),
        ("x.tex", "latex"),
        ("x.TXT", "text"),
        ("x", "text"),
    ],
)
def test_explain_writes_a_file_in_the_format_of_its_ending(run, tmp_path, name, form):
    assert run("explain", "rope", "-o", name).stdout == f"{name}\n"
    assert (tmp_path / name).read_text() == pe.explain("rope").render(form)


def test_explain_takes_a_sentence(run):
    told = run("explain", "the dog").stdout
    assert told == run("explain", "sinusoidal", "--text", "the dog").stdout
    assert told == str(pe.explain("sinusoidal", tokens="the dog"))
