"""The page's modules one by one: states as links, arrays, numbers, addresses."""

import base64
import io
import random
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser

from posenc.explanation.maths import number
from posenc.i18n import LANGUAGES
from posenc.views.kinds import KINDS
from tests.browser.test_links import WRONG
from tests.browser.units import Units

TEXTS = [
    "the dog bit the man", "犬が人を噛む", "狗咬了人", "我 爱 学习 AI", "", " ",
    "a+b & c=d # e % 28 %28 %2C",
    "line\nof\ttwo",
    "👩‍👩‍👧 é\u0301 \u200f", "'quoted' \"twice\" (3, 4)", "x" * 2000, "\\u0041 <b>",
]  # fmt: skip
EXPRESSIONS = [
    "Sinusoidal(64)", "RoPE(64,scaling=YaRN(4.0,4096))", "Learned(512,64)", "mine", "it's (a) = 1",
    "AxialRoPE.mrope(64,sections=(16,24,24))", "RoPE(64,pairing='halves')", "自分の+&?",
]  # fmt: skip
PARTS = ["sentence", "encoding", "views", "cell", "properties", "tour", "export"]


@pytest.fixture(scope="module")
def units(browser: Browser, address: str) -> Iterator[Units]:
    context = browser.new_context()
    yield Units(context.new_page(), address)
    context.close()


def some_state(rng: random.Random) -> dict:
    def perhaps(value: int) -> int | None:
        return value if rng.random() < 0.5 else None

    chosen = rng.choices(EXPRESSIONS, k=rng.randint(1, 4))
    return {
        "text": rng.choice(TEXTS),
        "by": rng.choice(["words", "spaces", "characters", "bytes", "bpe", "tokenizer"]),
        "e": chosen,
        "a": rng.randrange(len(chosen)),
        "n": rng.choice([0, 1, 512, 8192]),
        "view": rng.choice([None, *KINDS]),
        "p": perhaps(rng.randrange(8192)),
        "d": perhaps(rng.randrange(8192)),
        "k": perhaps(rng.randrange(8192)),
        "h": perhaps(rng.randrange(64)),
        "causal": perhaps(rng.choice(["yes", "no"])),
        "lang": rng.choice(LANGUAGES),
        "theme": rng.choice(["auto", "light", "dark"]),
        "hide": rng.sample(PARTS, rng.randrange(4)),
        "step": perhaps(rng.randint(1, 10)),
        "seed": rng.choice([0, 1, 2**24]),
    }


def test_a_state_is_the_state_of_its_link(units: Units) -> None:
    rng = random.Random(0)
    states = [some_state(rng) for _ in range(3000)]
    assert set(states[0]) == set(
        units.call("state", "(m) => Object.keys(m.fromQuery('', 'en').state)")
    )
    asked = [[state, rng.choice(LANGUAGES), rng.random() < 0.5] for state in states]
    told = units.call(
        "state",
        """(m, all) => all.map(([state, lang, keepText]) =>
          m.fromQuery(m.toQuery(state, { lang, keepText }), lang))""",
        asked,
    )
    for state, back in zip(states, told, strict=True):
        assert back == {"state": state, "wrong": []}


def test_a_link_with_its_text_is_the_same_for_every_reader(units: Units) -> None:
    rng = random.Random(1)
    states = [some_state(rng) for _ in range(300)]
    told = units.call(
        "state",
        """(m, all) => all.map((state) => ["en", "ja", "zh-Hans", "zh-Hant"].map((reader) =>
          m.fromQuery(m.toQuery(state, { lang: "en", keepText: true }),
            reader).state))""",
        states,
    )
    assert all(reader == readers[0] for readers in told for reader in readers)


def test_wrong_values_in_a_link_are_named_and_replaced(units: Units) -> None:
    rng = random.Random(2)
    keys = ["v", "text", "by", "e", "n", "view", "p", "d", "k", "lang", "theme", "hide", "step"]
    junk = [
        "",
        "-1",
        "1e9",
        "9" * 30,
        "NaN",
        "x",
        "%",
        "\0",
        "0.5",
        "９",
        "null",
        "a,b",
        "x" * 3000,
    ]
    pairs = [[(rng.choice(keys), rng.choice(junk)) for _ in range(4)] for _ in range(2000)]
    told = units.call(
        "state",
        """(m, all) => all.map((pairs) => {
          const { state, wrong } = m.fromQuery("?" + new URLSearchParams(pairs), "ja");
          return [wrong, m.fromQuery(m.toQuery(state, { lang: "ja" }), "ja")];
        })""",
        pairs,
    )
    for given, (wrong, again) in zip(pairs, told, strict=True):
        first = dict(reversed(given))  # of a key that comes twice, the first is read
        assert again["wrong"] == []  # what it was replaced by can be a link
        if any(first.get(key) not in (None, "x") for key in ("theme", "view", "lang", "v")):
            assert wrong


def test_a_wrong_value_is_the_only_one_that_is_named(units: Units) -> None:
    code = "(m, all) => all.map((pair) => m.fromQuery('?' + new URLSearchParams([pair]), 'en'))"
    told = units.call("state", code, list(WRONG.items()))
    assert [each["wrong"] for each in told] == [[key] for key in WRONG]
    usual = units.call("state", "(m) => m.fromQuery('', 'en').state")
    changed = {key for each in told for key in usual if each["state"][key] != usual[key]}
    assert changed <= {"text", "d", "step"}  # cut off, or the nearest that can be


@pytest.mark.parametrize("dtype", ["<f4", "<f8"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (700, 64)])
def test_arrays_are_read_as_numpy_wrote_them(units: Units, dtype: str, shape: tuple) -> None:
    values = np.random.default_rng(0).normal(size=shape).astype(dtype)
    rows, columns, read = units.call("npy", READ, encoded(values))
    assert (rows, columns) == shape
    assert np.array_equal(np.array(read, dtype=dtype).reshape(shape), values)


@pytest.mark.parametrize(
    "values", [np.zeros(3), np.zeros((2, 2), dtype=int), np.zeros((2, 3), order="F")]
)
def test_an_array_of_another_kind_is_refused(units: Units, values: np.ndarray) -> None:
    refused = (
        f"(m, text) => {{ try {{ return ({READ})(m, text) }} catch (e) {{ return e.message }} }}"
    )
    assert "another kind" in units.call("npy", refused, encoded(values))
    assert "no .npy file" in units.call("npy", refused, base64.b64encode(b"x" * 99).decode())


READ = """(m, text) => {
  const { rows, columns, values } = m.readNpy(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  return [rows, columns, [...values]];
}"""  # noqa: E501


def encoded(values: np.ndarray) -> str:
    buffer = io.BytesIO()
    np.save(buffer, values)
    return base64.b64encode(buffer.getvalue()).decode()


def test_numbers_are_written_as_the_library_writes_them(units: Units) -> None:
    rng = random.Random(3)
    values = [rng.choice([-1, 1]) * 10 ** rng.uniform(-3, 8) for _ in range(500)]
    told = units.call("numbers", "(m, all) => all.map((value) => m.number(value))", values)
    assert told == [number(value).replace("-", "−") for value in values]
    assert units.call("numbers", "(m) => [m.number(-0), m.number(NaN), m.number(-Infinity)]") == [
        "0", "–", "−∞",
    ]  # fmt: skip


def test_addresses_and_the_names_of_saved_answers(units: Units) -> None:
    made = units.call(
        "api", "(m) => m.address('cell', { e: ['A(1)', 'B'], p: 0, d: null, k: undefined })"
    )
    assert made == "cell?e=A%281%29&e=B&p=0"
    named = [
        "cell?p=1&d=2&e=A&lang=ja&text=x",
        "messages?lang=ja",
        "view/heatmap?rows=9&e=A",
        "tokens",
    ]
    assert units.call("api", "(m, all) => all.map(m.savedName)", named) == [
        "cell?d=2&e=A&p=1", "messages?lang=ja", "view/heatmap", "tokens",
    ]  # fmt: skip


def test_steps_are_level_around_each_x_and_end_at_gaps(units: Units) -> None:
    x, y = [0, 1, 2, 4, 5], [1, 1, 3, None, 7]
    assert units.call("steps", "(m, [x, y]) => m.level(x, y)", [x, y]) == [
        [[0, 1], [0.5, 1], [0.5, 1], [1.5, 1], [1.5, 3], [2, 3]],
        [[5, 7], [5, 7]],
    ]
    assert units.call("steps", "(m, [x, y]) => m.sloped(x, y)", [x, y]) == [
        [[0, 1], [1, 1], [2, 3]],
        [[5, 7]],
    ]


def test_keys_move_down_and_across(units: Units) -> None:
    keys = ["ArrowUp", "ArrowRight", "PageDown", "Home", "End", "Tab"]
    moves = units.call("moves", "(m, keys) => keys.map((key) => m.moveOf(key, 64, 8))", keys)
    assert moves == [[-1, 0], [0, 1], [8, 0], [0, -64], [0, 64], None]


def test_a_key_is_above_or_below_and_left_or_right_of_its_query(units: Units) -> None:
    places = [[-4, 6], [-1, 1], [1, -1], [6, -4], [0, -6], [2, 0], [0, 0]]
    code = "({ fromQuery }, places) => places.map(([down, across]) => fromQuery(1, down, across))"
    assert units.call("reading.svelte", code, places) == [
        "head 1, 4 rows above and 6 columns right of the query",
        "head 1, 1 row above and 1 column right of the query",
        "head 1, 1 row below and 1 column left of the query",
        "head 1, 6 rows below and 4 columns left of the query",
        "head 1, in the same row as the query, 6 columns left",
        "head 1, in the same column as the query, 2 rows below",
        "head 1, key at the query",
    ]
