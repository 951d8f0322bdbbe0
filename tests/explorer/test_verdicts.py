"""Check reports are those of the library, also from a process of their own."""

import json
from typing import get_args

import pytest

from posenc.checks.report import Verdict
from posenc.explorer.schemas import VERDICTS
from posenc.names.resolve import evaluate_encoding
from tests.patient import check
from tests.slow import slow


@pytest.mark.parametrize(
    "expression",  # each starts a process that imports PyTorch
    ["ALiBi(2)", *slow("Sinusoidal(8)", "NoPE()")],
)
def test_verdicts_are_those_of_the_library(client, expression):
    told = client.get("/api/v1/check", e=expression, seed=4).json
    mine = json.loads(json.dumps(check(evaluate_encoding(expression), seed=4).to_json()))
    for report in (told, mine):
        for row in report["rows"]:
            row.pop("seconds")
            title = row.pop("title", row["name"].replace("_", " "))
            assert title == row["name"].replace("_", " ")
    assert told == mine


def test_verdicts_are_those_of_the_checks():
    assert get_args(Verdict) == VERDICTS
