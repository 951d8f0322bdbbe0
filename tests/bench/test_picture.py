"""A picture of a run."""

import pytest


def test_the_picture_has_every_row(data, tmp_path):
    pytest.importorskip("matplotlib")
    from posenc.bench.picture import draw_run

    draw_run(data, tmp_path / "bench.svg")
    drawn = (tmp_path / "bench.svg").read_text()
    for words in ("decode: one token", "posenc, halves", "HF apply"):
        assert f"<!-- {words} -->" in drawn
    assert drawn.count("#b2182b") == 1  # the bar of 4 times clone


def test_a_run_without_ratios_has_no_picture(data, tmp_path):
    pytest.importorskip("matplotlib")
    from posenc.bench.picture import draw_run

    with pytest.raises(ValueError, match="there is no ratio to draw"):
        draw_run(data | {"benchmarks": []}, tmp_path / "bench.svg")
