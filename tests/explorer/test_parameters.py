"""Query parameters: read, refused and described."""

import jsonschema_rs
import pytest

from posenc.explorer import parameters
from posenc.explorer.parameters import Parameter, RequestError

NUMBER = Parameter("n", "How many.", 3, least=1, most=2000)
CHOICE = Parameter("by", "How.", "words", choices=("words", "bytes"))
MANY = Parameter("e", "Some.", ("a",), repeated=True, longest=4)


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [
        (NUMBER, [], 3),
        (NUMBER, ["2000"], 2000),
        (CHOICE, ["bytes"], "bytes"),
        (MANY, [], ("a",)),
        (MANY, ["x", "x"], ("x", "x")),
    ],
)
def test_what_is_read(parameter, given, value):
    assert parameter.read(given) == value


@pytest.mark.parametrize(
    ("parameter", "given", "status", "message"),
    [
        (NUMBER, ["0"], 400, "n must be 1 .. 2,000; got 0"),
        (NUMBER, ["-1"], 400, "n must be 1 .. 2,000; got -1"),
        (NUMBER, ["²"], 400, "n must be a whole number; got '²'"),
        (NUMBER, ["1" * 20], 400, f"n must be a whole number; got '{'1' * 20}'"),
        (NUMBER, ["1", "2"], 400, "n must be given once; got it 2 times"),
        (CHOICE, ["lines"], 400, "by must be one of words, bytes; got 'lines'"),
        (MANY, ["a", "abcde"], 413, "e must have at most 4 characters; got 5"),
    ],
)
def test_what_is_refused(parameter, given, status, message):
    with pytest.raises(RequestError) as caught:
        parameter.read(given)
    assert (str(caught.value), caught.value.status) == (message, status)
    assert caught.value.argument == parameter.name


@pytest.mark.parametrize(
    ("parameter", "right", "wrong"),
    [(NUMBER, 2000, 2001), (CHOICE, "bytes", "lines"), (MANY, ["abcd"], ["abcde"])],
)
def test_the_description_accepts_what_is_read(parameter, right, wrong):
    schema = parameter.schema()["schema"]
    assert jsonschema_rs.is_valid(schema, right)
    assert not jsonschema_rs.is_valid(schema, wrong)


def test_changes_are_read_only_where_they_are_taken():
    query = {"n": ["7"], "set.base": ["100"]}
    assert parameters.read((NUMBER,), query, changes=True) == {"n": 7, "changes": {"base": "100"}}
    with pytest.raises(RequestError, match=r"there is no parameter 'set.base'; there are: n$"):
        parameters.read((NUMBER,), query)


def test_errors_have_a_language_too():
    assert parameters.language({"lang": ["ja"]}) == "ja"
    assert parameters.language({"lang": ["xx"]}) == parameters.language({}) == "en"
