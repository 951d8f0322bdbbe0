"""A run in words and as a picture."""

from posenc.bench import report
from posenc.bench.case import Bound, Case, Entry, Request, Setup
from posenc.bench.run import run_cases
from tests.bench.made_up import case_of, entry


def test_every_row_stands_there_with_its_bars(data):
    lines = list(report.format_run(data))
    text = "\n".join(lines)
    assert lines[0].startswith(data["machine"]["cpu"])
    assert "decode: one token [decode-float32, 2 rounds]" in lines
    (ours,) = [line for line in lines if line.startswith("  posenc, halves")]
    assert ours.split()[2:5] == ["3", "us", "3"]
    assert "at most 4 of clone: 3, met" in text
    assert "at least 2 times as fast as HF apply: 1.5, missed" in text
    assert "  torchtune is not timed: torchtune must be installed" in lines
    assert "  wrong is off by 2, 2 times its bound; not timed" in lines
    assert "1 of 2 bars are met." in lines
    assert "WRONG" not in text


def test_what_is_wrong_is_the_last_word():
    case = case_of(copy=Entry(int), posenc=entry(3.0, ours=True))
    lines = list(report.format_run(run_cases([case], Request(), rounds=2)))
    assert lines[-1] == "WRONG: made-up: posenc is off by 3, 3 times its bound; not timed"


def test_growth_is_told():
    entries = {"copy": Entry(int, list, Bound(1.0))}

    def of(size):
        setup = Setup(entries, sample=lambda: {"copy": size * 1e-3})
        return Case(f"work-{size}", "work", "", lambda request: setup, size=size)

    lines = list(report.format_run(run_cases([of(10), of(40)], Request(), rounds=2)))
    told = "work, from 10 to 40, time grows as the size to the power of: copy 1.00"
    assert told in lines
