"""A view as one long table."""

import csv
import io
import json

import pytest

import posenc as pe
from posenc.views import KINDS, kinds_for, view
from tests.views.examples import example_for


def test_csv_has_a_line_for_each_number():
    made = view("rope", "rotation", tokens="我, 爱", dim=4)
    rows = list(csv.DictReader(io.StringIO(made.to_csv())))
    assert len(rows) == made.panels[0].hands[..., 0].size
    last = rows[-1]
    assert (last["panel"], last["row"], last["column"]) == ("0", "1", "1")
    assert last["column_label"] == "1 爱"
    assert float(last["value"]) == made.panels[0].hands[1, 1, 0]
    assert float(last["length"]) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_csv_and_json_of_every_kind_hold_the_same_numbers(kind):
    what = example_for(kind, bias="fire", maps="axial-rope")
    text = "attention" in kinds_for(pe.lookup(what).example())
    made = view(what, kind, tokens="我 爱 AI") if text else view(what, kind, length=4)
    rows = list(csv.DictReader(io.StringIO(made.to_csv())))

    def numbers(panel):
        match panel["panel"]:
            case "image":
                return [value for row in panel["values"] for value in row]
            case "lines":
                return [value for line in panel["lines"] for value in line["y"]]
            case _:
                return [hand[0] for dial in panel["hands"] for hand in dial]

    data = json.loads(json.dumps(made.to_json(), allow_nan=False))
    expected = [number for panel in data["panels"] for number in numbers(panel)]
    assert [float(row["value"]) if row["value"] else None for row in rows] == expected
