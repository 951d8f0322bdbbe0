"""Panels: plain data, and averages that invent no waves."""

import json
import math

import numpy as np
import pytest

from posenc.views import Axis, Dials, Image, Line, Lines, Mark, View


def image(values, colours="diverging", **more):
    return Image("title", np.asarray(values, float), Axis("row"), Axis("col"), 1.0, colours, **more)


def test_averages_are_means_of_boxes():
    values = np.arange(35.0).reshape(5, 7)
    small = image(values).average(3, 4)
    assert small.ratio == (2, 2)
    expected = [
        [values[r : r + 2, c : c + 2].mean() for c in range(0, 7, 2)] for r in range(0, 5, 2)
    ]
    assert np.allclose(small.values, expected)
    assert small.average(1, 1).ratio == (6, 8)


def test_squares_stay_squares():
    small = image(np.arange(4096.0).reshape(64, 64), square=True).average(32, 16)
    assert (small.values.shape, small.ratio) == ((16, 16), (4, 4))


def test_what_fits_is_left_alone():
    whole = image(np.ones((4, 4)))
    assert whole.average(4, 9) is whole


def test_averages_leave_out_what_is_not_there():
    small = image([[1.0, math.nan, math.nan, math.nan]]).average(1, 2)
    assert small.values[0, 0] == 1.0
    assert math.isnan(small.values[0, 1])


def test_angles_are_averaged_as_directions():
    """Half a turn to either side is one place: as numbers they would average to 0."""
    small = image([[math.pi - 0.1, -math.pi + 0.3]], "cyclic").average(1, 1)
    assert abs(small.values[0, 0] - (-math.pi + 0.1)) < 1e-12
    assert image([[math.pi - 0.1, -math.pi + 0.3]]).average(1, 1).values[0, 0] == pytest.approx(0.1)


def test_directions_that_cancel_have_no_mean():
    turning = np.arange(4096)[:, None] * 2 * np.pi / 8.1
    small = image(np.angle(np.exp(1j * turning)), "cyclic").average(512, 1)
    assert np.isnan(small.values).all()  # every 8th would turn slowly
    slow = image(turning / 8000, "cyclic").average(512, 1)
    assert np.isfinite(slow.values).all()


def test_a_fast_wave_fades_instead_of_turning_slow():
    """Every 8th sample of period 8.1 is a wave of period 656; the mean over boxes is next to 0."""
    wave = np.sin(2 * np.pi * np.arange(4096) / 8.1)[:, None]
    assert np.abs(wave[::8]).max() > 0.99
    assert np.abs(image(wave).average(512, 1).values).max() < 0.05


@pytest.mark.parametrize("most", [(0, 1), (1, 0), (1.5, 1)])
def test_averages_need_at_least_one_cell(most):
    with pytest.raises((ValueError, TypeError), match="must be a whole number of at least 1"):
        image([[1.0]]).average(*most)


def lines(x, *y):
    made = tuple(Line(str(i), np.asarray(values, float)) for i, values in enumerate(y))
    return Lines("title", np.asarray(x, float), made, Axis("x"), Axis("y"))


def test_lines_are_averaged_with_a_band_from_least_to_largest():
    y = np.sin(np.arange(4096.0))
    small = lines(np.arange(4096), y, -y).average(600)
    assert small.ratio == 7
    boxes = [y[at : at + 7] for at in range(0, 4096, 7)]
    first, second = small.lines
    assert np.allclose(small.x, [np.arange(4096)[at : at + 7].mean() for at in range(0, 4096, 7)])
    assert np.allclose(first.y, [box.mean() for box in boxes])
    assert first.low.tolist() == [box.min() for box in boxes]
    assert first.high.tolist() == [box.max() for box in boxes]
    assert second.high.tolist() == [-box.min() for box in boxes]
    assert (len(first.y), small.title) == (586, "title")
    assert small.to_json()["ratio"] == 7
    assert small.to_json()["lines"][0]["low"] == first.low.tolist()


def test_lines_whose_steps_fit_are_left_alone():
    whole = lines(np.arange(600), np.ones(600))
    assert whole.average(600) is whole
    smooth = lines(np.linspace(0, 99, 1585), np.ones(1585))  # sixteen points to a position
    assert smooth.average(100) is smooth
    alone = lines([0], [1.0])
    assert alone.average(1) is alone


def test_smooth_lines_are_averaged_by_whole_steps():
    x = np.linspace(0, 99, 1585)
    small = lines(x, x).average(50)
    assert small.ratio == 2
    assert np.allclose(small.x, [x[at : at + 32].mean() for at in range(0, 1585, 32)])


def test_gaps_in_lines_stay_where_nothing_else_is():
    small = lines(range(5), [1.0, np.nan, np.nan, np.inf, 4.0]).average(3).lines[0]
    assert [small.y[0], small.low[0], small.high[0]] == [1.0, 1.0, 1.0]
    assert np.isnan([small.y[1], small.low[1], small.high[1]]).all()


def test_lines_need_at_least_one_column():
    with pytest.raises(ValueError, match=r"columns must be a whole number of at least 1; got .*0$"):
        lines([0], [1.0]).average(0)


def test_json_is_plain_and_null_where_there_is_no_number():
    lines = Lines(
        "l",
        np.arange(2),
        (Line("a", np.array([1 / 3, np.inf])),),
        Axis("x", ("我", "AI")),
        Axis("y", log=True),
        (Mark("here", y=2.0),),
    )
    dials = Dials("d", np.array([[[0.5, 1.0]]]), ("pair 0",), ("0",))
    made = View("kind", "title", (image([[math.nan]]), lines, dials), ("note",), columns=2)
    data = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert data == {
        "kind": "kind",
        "title": "title",
        "columns": 2,
        "notes": ["note"],
        "panels": [
            {
                "panel": "image",
                "title": "title",
                "values": [[None]],
                "rows": {"name": "row", "labels": None, "log": False},
                "columns": {"name": "col", "labels": None, "log": False},
                "limit": 1.0,
                "colours": "diverging",
                "unit": "",
                "square": False,
                "ratio": [1, 1],
                "channel": None,
                "of": None,
            },
            {
                "panel": "lines",
                "title": "l",
                "x": [0.0, 1.0],
                "lines": [
                    {"name": "a", "y": [1 / 3, None], "colour": None, "low": None, "high": None}
                ],
                "x_axis": {"name": "x", "labels": ["我", "AI"], "log": False},
                "y_axis": {"name": "y", "labels": None, "log": True},
                "marks": [{"name": "here", "x": None, "y": 2.0}],
                "steps": False,
                "ratio": 1,
                "of": None,
            },
            {
                "panel": "dials",
                "title": "d",
                "hands": [[[0.5, 1.0]]],
                "names": ["pair 0"],
                "labels": ["0"],
                "of": None,
            },
        ],
    }
