"""The comparison: every cell is measured again here, or its source is shown."""

import json
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import posenc as pe
from posenc.bench import costs
from posenc.comparison.cells import KNOWN, MARKS, MEASURED, bytes_told, cells, headings, notes
from posenc.comparison.opinions import strengths, weaknesses
from posenc.i18n import LANGUAGES, translator
from posenc.i18n.terminal import padded, width, wrapped
from posenc.names.resolve import VARIANTS, resolve
from tests.patient import check, compare

SEEDS = ("sinusoidal", "learned", "t5", "alibi", "transformer-xl", "rope")


@pytest.fixture(scope="module")
def table():
    return compare(*SEEDS)


@pytest.mark.parametrize("name", SEEDS)
def test_parameters_are_what_init_draws(table, name):
    encoding = resolve(name)[name]
    drawn = encoding.init(np.random.default_rng(0))
    entry = table[name]
    assert entry.encoding == str(encoding)
    assert entry.parameters == sum(value.size for value in drawn.values())
    assert entry.trained == entry.parameters
    assert entry.parameter_bytes == 4 * entry.parameters


def test_parameters_that_are_kept_are_not_trained():
    entry = pe.compare("fourier-features", bench=False)["fourier-features"]
    assert (entry.parameters, entry.trained) == (64, 0)
    assert cells(entry, "en")["parameters"] == "64 fixed"


@pytest.mark.parametrize("name", SEEDS)
def test_properties_are_what_the_checks_find(table, name):
    report = check(resolve(name)[name])
    for row in report.rows:
        ours = table[name].report[row.name]
        assert (ours.verdict, ours.measured, ours.bound) == (row.verdict, row.measured, row.bound)
    told = cells(table[name], "en")
    assert told["unique"] == f"{MARKS[report['unique'].verdict]} " + (
        f"{report['unique'].measured:,.0f} repeated"
    )
    assert told["relative"].split() == [
        MARKS[report["relative"].verdict],
        f"{report['relative'].measured:.1g}",
    ]


def test_cells_of_the_seeds_table(table):
    """Seeds 000, 003 and 004: learned ends at its table, RoPE sees distances, ALiBi has nothing."""
    told = {name: cells(table[name], "en") for name in SEEDS}
    assert told["learned"]["any_length"] == "– ≤ 511"
    assert told["sinusoidal"]["any_length"] == "✓ > 10^7"
    assert told["learned"]["parameters"] == "32,768 trained"
    assert told["rope"]["acts"] == "turns queries and keys"
    assert told["sinusoidal"]["acts"] == told["learned"]["acts"] == "added to embeddings"
    assert told["t5"]["acts"] == told["alibi"]["acts"] == "added to logits"
    assert told["transformer-xl"]["acts"] == "makes the logits"
    assert told["rope"]["axes"] == "1; more: axial-rope"
    assert {name for name in SEEDS if told[name]["relative"].startswith("✓")} == {
        "t5",
        "alibi",
        "transformer-xl",
        "rope",
    }
    assert told["rope"]["paper"] == f"{pe.RoPE.about.paper} (2021)"
    assert "BERT" in told["learned"]["models"]


def test_axes_are_counted_and_each_is_seen():
    entry = compare("mrope", bench=False)["mrope"]
    assert entry.report["every_axis"].measured == 0
    assert cells(entry, "en")["axes"] == "✓ 3"


@pytest.mark.parametrize("name", SEEDS)
def test_opinions_follow_from_what_was_measured(table, name):
    entry, t = table[name], translator("en")
    good, bad = strengths(entry, t), weaknesses(entry, t)
    report = entry.report
    assert ("nothing to learn" in good) == (entry.parameters == 0)
    assert ("learned from data" in good) == (entry.trained > 0)
    assert ("takes any length" in good) == (report["any_length"].verdict == "holds")
    assert ("sees distances only" in good) == (report["relative"].verdict == "holds")
    assert ("keeps the lengths of vectors" in good) == (
        report["norm_preserving"].verdict == "holds"
    )
    assert ("a shift is one matrix" in good) == (report["linear_shift"].verdict == "holds")
    assert ("far keys count less" in good) == (report["decays"].verdict == "holds")
    assert ("ends at position 511" in bad) == (name == "learned")
    assert ("for keys behind their query only" in bad) == resolve(name)[name].causal_only
    assert ("a bias written out takes memory for each pair of tokens" in bad) == (
        entry.cost.power > 1.5
    )
    assert set(entry.about.strengths) <= set(good)
    assert set(entry.about.weaknesses) <= set(bad)


def test_opinions_turn_with_the_verdict(table):
    entry, t = table["rope"], translator("en")
    rows = tuple(
        replace(row, verdict="fails") if row.name in ("relative", "unique", "decodes") else row
        for row in entry.report.rows
    )
    broken = replace(entry, report=replace(entry.report, rows=rows), causal_only=True)
    bad = weaknesses(broken, t)
    assert bad[0] == "claims that fail: decodes, relative, unique"
    assert "depends on places, not on distances alone" in bad
    assert "0 positions repeat others" in bad
    assert "cached keys do not stay right" in bad
    assert "for keys behind their query only" in bad
    assert "sees distances only" not in strengths(broken, t)
    assert cells(broken, "en")["relative"].startswith("✗")


def test_nothing_that_a_check_measures_is_typed_in():
    from posenc.comparison import opinions

    text = Path(opinions.__file__).read_text()
    derived = set(re.findall(r't\(\s*"([^"]*)"', text))
    abouts = [kind.about for _, kind in pe.encodings.BUILTIN]
    typed = {m for about in abouts for m in (*about.strengths, *about.weaknesses)}
    assert len(derived) > 15
    assert not derived & typed


@pytest.mark.parametrize("kind", [kind for _, kind in pe.encodings.BUILTIN])
def test_every_built_in_says_where_it_comes_from(kind):
    about = kind.about
    names = dict(pe.encodings.BUILTIN)
    assert 2017 <= about.year <= 2026
    assert re.search(r"arXiv:\d{4}\.\d{5}|github\.com", about.paper)
    assert not about.axial or names[about.axial].example().axes > 1
    assert len(set(about.models)) == len(about.models)


@pytest.mark.parametrize("kind", [kind for _, kind in pe.encodings.BUILTIN])
def test_the_year_is_that_of_the_paper_and_the_docstring(kind):
    found = re.search(r"arXiv:(\d\d)", kind.about.paper)
    assert found is None or int(found[1]) + 2000 == kind.about.year
    author = kind.about.paper.split(" et al.")[0].split(",")[0]
    cited = re.findall(rf"{author} et al\. \((\d{{4}})\)", kind.__doc__)
    assert all(int(year) == kind.about.year for year in cited)


def test_a_scaling_speaks_for_the_whole():
    yarn = pe.RoPE(64, scaling=pe.YaRN(4.0, 8192))
    assert yarn.about == pe.YaRN.about != pe.RoPE.about
    assert pe.RoPE(64).about == pe.RoPE.about
    assert yarn == pe.RoPE(64, scaling=pe.YaRN(4.0, 8192))
    for name in VARIANTS:
        assert resolve(name)[name].about.year


@dataclass(frozen=True)
class Mine(pe.Bias):
    heads: int = 2
    traits = pe.Traits(symmetric=True)

    def bias(self, q_pos, k_pos, params=None):
        return -(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 0.5


def test_an_encoding_of_ones_own_that_claims_too_much():
    table = compare({"mine": Mine()}, pe.NoPE(), bench=False)
    assert [entry.name for entry in table.entries] == ["mine", "NoPE()"]
    assert not table.ok
    assert weaknesses(table["mine"], translator("en"))[0] == "claims that fail: symmetric"
    assert table["mine"].about == pe.About()
    assert cells(table["mine"], "en")["models"] == ""


@dataclass(frozen=True)
class Raising(pe.Additive):
    dim: int = 4

    def init(self, rng):
        raise OSError("no\ndisk")

    def encode(self, positions, params=None, *, dtype=None):
        raise OSError("no\ndisk")


def test_what_raises_is_told_and_not_timed():
    entry = pe.compare({"raising": Raising()})["raising"]
    assert not entry.report.ok
    assert entry.cost is None
    assert cells(entry, "en")["ratio"] == "not timed: OSError: no disk"


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((), {}, ValueError, "encodings must be one or more, by name or as values; got none"),
        ((3,), {}, TypeError, "each of encodings must be an Encoding or name one; got 3"),
        (("rop",), {}, ValueError, "no encoding is called 'rop'; did you mean rope"),
        (({"a": 3},), {}, TypeError, "each of encodings must be an Encoding or name one"),
        (("nope",), {"lang": "fr"}, ValueError, "lang must be 'en' or 'ja'"),
        (("nope",), {"bench": 3}, TypeError, "bench must be True or False; got bench=3"),
    ],
)
def test_wrong_arguments_are_sentences(arguments, keywords, error, message):
    with pytest.raises(error, match=re.escape(message)):
        pe.compare(*arguments, **keywords)


def test_an_entry_is_found_by_its_name(table):
    with pytest.raises(ValueError, match=r"one of sinusoidal, learned, .*; got 'rop'"):
        table["rop"]


def test_sizes_are_for_names_alone():
    table = pe.compare("alibi", "ALiBi(4)", sizes={"heads": 2}, bench=False)
    assert [entry.encoding for entry in table.entries] == ["ALiBi(2)", "ALiBi(4)"]


def test_json_is_the_data(table):
    told = json.loads(json.dumps(table.to_json()))
    assert told["ok"] is True
    assert [row["name"] for row in told["encodings"]] == list(SEEDS)
    rope = told["encodings"][-1]
    assert rope["parameters"] == {"count": 0, "trained": 0, "bytes": 0}
    assert rope["properties"]["relative"]["verdict"] == "holds"
    assert rope["properties"]["relative"]["measured"] == table["rope"].report["relative"].measured
    assert rope["cost"]["ratio"] == table["rope"].cost.ratio
    assert rope["axial"] == "axial-rope"
    assert rope["year"] == 2021
    assert rope["strengths"] == strengths(table["rope"], translator("en"))


def test_markdown_has_a_row_for_each_and_every_column(table):
    lines = table.to_markdown().splitlines()
    columns = len(headings("en")) + 1
    assert all(line.count(" | ") == columns - 1 for line in (lines[0], *lines[2:8]))
    assert lines[1] == "|---" * columns + "|"
    assert [line.split(" | ")[0].strip("| ") for line in lines[2:8]] == list(SEEDS)


def test_html_is_escaped():
    made = pe.compare({"<b>": pe.NoPE()}, bench=False)._repr_html_()
    assert "&lt;b&gt;" in made
    assert "<b>" not in made


@pytest.mark.parametrize("lang", LANGUAGES)
def test_text_fits_the_terminal_in_every_language(table, lang):
    text = str(replace(table, lang=lang))
    assert max(width(line) for line in text.splitlines()) <= 100
    for name in SEEDS:
        assert f"\n{name}: " in text


def test_more_encodings_than_fit_go_below():
    names = [name for name, _ in pe.encodings.BUILTIN][:8]
    text = str(pe.compare(*names, bench=False))
    assert text.count("\nwhere it acts") == 2
    assert max(width(line) for line in text.splitlines()) <= 100
    assert "memory" not in text.split("\n\n", maxsplit=1)[0]  # nothing was timed


def test_every_column_has_a_heading():
    assert set(headings("en")) == {"encoding", *MEASURED, *KNOWN}


def test_han_characters_are_two_columns_wide():
    assert width("位置 p") == 6
    assert padded("位置", 6) == "位置  "
    assert wrapped("距離だけを見る。", 14) == [
        "距離だけを見る。"
    ]  # no line starts with a full stop
    assert wrapped("transformer-xl", 12) == ["transformer-", "xl"]
    assert wrapped("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrapped("", 3) == [""]


def test_bytes_are_told_in_units():
    assert [bytes_told(n) for n in (0, 999, 1000, 2.5e6, 3e9)] == [
        "0 B",
        "999 B",
        "1 kB",
        "2.5 MB",
        "3 GB",
    ]


@pytest.mark.parametrize("name", [*dict(pe.encodings.BUILTIN), *VARIANTS])
def test_every_encoding_has_a_cost(name):
    cost = costs.measure(resolve(name)[name], tokens=64, rounds=1)
    assert cost.tokens == (49 if name == "swin" else 64)
    assert cost.seconds >= 0
    assert cost.ratio >= 0
    assert cost.bytes > 0
    assert cost.error < 1e-5


@pytest.mark.parametrize(
    ("encoding", "pairs"),
    [(pe.Sinusoidal(64), False), (pe.RoPE(64), False), (pe.ALiBi(8), True), (pe.T5Bias(8), True)],
)
def test_memory_is_that_of_what_is_made(encoding, pairs):
    cost = costs.measure(encoding, rounds=1)
    made = {False: 4 * 64, True: 4 * 8 * 256}[pairs]  # bytes of a token's row, of its logits
    assert cost.bytes >= made
    assert cost.bytes < 40 * made
    assert cost.power == pytest.approx(2 if pairs else 1, abs=0.2)


def test_no_speed_is_told_of_wrong_numbers(monkeypatch):
    right = pe.RoPE.rotate

    def wrong(self, x, positions, *, inverse=False):
        return right(self, x, positions) + (x.dtype == np.float32) * np.float32(1e-3)

    monkeypatch.setattr(pe.RoPE, "rotate", wrong)
    with pytest.raises(ArithmeticError, match=r"applied: error .* is above 1e-05; not timed"):
        costs.measure(pe.RoPE(64), rounds=1)


@pytest.mark.parametrize("name", ["tokens", "rounds"])
def test_costs_want_whole_numbers(name):
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1; got"):
        costs.measure(pe.RoPE(64), **{name: 0})


def test_what_takes_tensors_only_is_not_timed():
    theirs = pe.adapt.rotary(lambda x, p: x, dim=4, library="torch")
    with pytest.raises(TypeError, match="encoding must take NumPy arrays to be timed"):
        costs.measure(theirs)


@pytest.mark.parametrize(("encoding", "spent"), [(pe.RoPE(64), 3.0), (pe.Shaw(64, 16), 1.0)])
def test_the_ratio_is_to_the_products_and_scores_contain_them(monkeypatch, encoding, spent):
    rows = {"q k^T": {"seconds": 2.0}, "applied": {"seconds": 3.0, "steady": True}}
    monkeypatch.setattr(costs, "compared", lambda *args, **kwargs: {"rows": rows})
    cost = costs.measure(encoding)
    assert cost.seconds * cost.tokens == pytest.approx(spent)
    assert cost.ratio == pytest.approx(spent / 2)
    assert cost.steady


@pytest.mark.parametrize("lang", LANGUAGES)
def test_times_whose_rounds_differ_are_said_to_be_unreliable(table, lang):
    def told(steady):
        costs = (
            replace(entry.cost, steady=steady.get(entry.name, True)) for entry in table.entries
        )
        entries = (
            replace(entry, cost=cost) for entry, cost in zip(table.entries, costs, strict=True)
        )
        return notes(tuple(entries), lang)

    steady = told({})
    *same, added = told({"rope": False, "alibi": False})
    assert same == steady
    words = "times are unreliable, since the rounds of measurement differ: {names}"
    names = ", ".join(entry.name for entry in table.entries if entry.name in ("rope", "alibi"))
    assert added == translator(lang)(words, names=names)
    assert (added == words.format(names=names)) == (lang == "en")


def test_cells_of_the_cost_are_its_numbers(table):
    for entry in table.entries:
        told = cells(entry, "en")
        assert told["ratio"] == f"{entry.cost.ratio:.2f}"
        assert told["time"] == f"{entry.cost.seconds * 1e6:.1f} µs"
        assert told["memory"].startswith(bytes_told(entry.cost.bytes))
        assert ("∝ N" in told["memory"]) == (entry.cost.power > 1.5)


@dataclass(frozen=True)
class Sleeping(pe.Bias):
    heads: int = 1

    def bias(self, q_pos, k_pos, params=None):
        if len(q_pos) > 1:
            time.sleep(1)
        return 0.0 * (q_pos[:, None] - k_pos)[None]


def test_what_gives_no_answer_is_not_waited_for_again():
    entry = pe.compare({"sleeping": Sleeping()}, limit=0.1)["sleeping"]
    assert entry.untimed == "a check had no answer within its time limit"
