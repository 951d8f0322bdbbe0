"""Worked calculations: every number recomputed by formulas that import nothing from posenc."""

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.explanation import DEMONSTRATIONS, maths
from posenc.explanation.cell import cell
from posenc.explanation.forms import FORMS
from posenc.explanation.question import Question
from posenc.i18n import LANGUAGES
from posenc.i18n.terminal import width
from posenc.names.resolve import VARIANTS, found

EVERY = [*pe.catalogue(), *VARIANTS]


def columns(step):
    """The columns of a step's table by name."""
    return {
        name: list(column)
        for name, column in zip(step.table.columns, zip(*step.table.rows, strict=True), strict=True)
    }


def matrix(step):
    return np.array([row[1:] for row in step.table.rows])


def leaves(tree):
    if isinstance(tree, maths.Node):
        for part in tree.parts:
            yield from leaves(part)
    else:
        yield tree


def values_in(tree):
    return [leaf for leaf in leaves(tree) if isinstance(leaf, int | float)]


def waves(positions, dim, base=10_000.0):
    """PE by the paper, one number at a time."""
    return np.array(
        [
            [(math.sin, math.cos)[c % 2](p / base ** (2 * (c // 2) / dim)) for c in range(dim)]
            for p in positions
        ]
    )


def turned(x, p, w):
    """R(p) x of neighbouring pairs by complex numbers."""
    z = (x[0::2] + 1j * x[1::2]) * np.exp(1j * p * w)
    return np.stack([z.real, z.imag], axis=1).ravel()


@pytest.fixture
def query_and_key():
    legacy = np.random.RandomState(42)
    return legacy.randn(8), legacy.randn(8)


@pytest.mark.parametrize(("dim", "position"), [(8, 3), (2, 0), (16, 4095)])
def test_sinusoidal(dim, position):
    explained = pe.explain("sinusoidal", dim=dim, position=position, length=5)
    i = np.arange(dim // 2)
    told = columns(explained["frequencies"])
    assert told["exponent"] == pytest.approx(2 * i / dim)
    assert told["divisor"] == pytest.approx(10_000.0 ** (2 * i / dim))
    assert told["wavelength"] == pytest.approx(2 * np.pi * 10_000.0 ** (2 * i / dim))
    told, truth = columns(explained["angles"]), waves([position], dim)[0]
    assert told["angle"] == pytest.approx(position * 10_000.0 ** (-2 * i / dim))
    assert told["sin"] == pytest.approx(truth[0::2])
    assert told["cos"] == pytest.approx(truth[1::2])
    assert matrix(explained["encodings"]) == pytest.approx(waves(range(5), dim))
    embeddings = np.add.outer(np.arange(5), np.arange(dim)) / 10 + 0.1
    assert matrix(explained["addition"]) == pytest.approx(embeddings + waves(range(5), dim))
    moved = matrix(explained["shift"]) @ truth
    assert moved == pytest.approx(waves([position + 1], dim)[0])


def test_the_formulas_of_sinusoidal_have_their_numbers():
    explained = pe.explain("sinusoidal", position=3)
    truth = waves([3], 8)[0]
    formulas = explained["angles"].formulas
    assert len(formulas) == 8
    for c, formula in enumerate(formulas):
        position, column, _, base, exponent, angle, value = values_in(formula)
        assert (position, column, base) == (3, c, 10_000)
        assert exponent == 2 * (c // 2) / 8
        assert angle == pytest.approx(3 / 10_000**exponent)
        assert value == pytest.approx(truth[c])
    assert "PE_(3, 2) = sin(3/10000^0.25) = sin(0.3) = 0.2955" in str(explained)
    *block_and_vector, sine, cosine = values_in(explained["shift"].formulas[0])
    assert [sine, cosine] == pytest.approx(waves([4], 8)[0][2:4])
    c, s = math.cos(0.1), math.sin(0.1)
    assert block_and_vector == pytest.approx([c, s, -s, c, *truth[2:4]])


def test_the_sum_and_the_shift_say_their_own_numbers():
    explained = pe.explain("sinusoidal", length=3)
    embedding, encoding, total = values_in(explained["addition"].formulas[0])
    assert (embedding, encoding) == pytest.approx((0.3, math.sin(2)))
    assert total == pytest.approx(0.3 + math.sin(2))
    encoding = pe.Sinusoidal(8)
    here, there = encoding.encode([3, 4])
    error = np.abs(encoding.shift(1) @ here - there).max()
    assert f"differs from PE(4) by {error:.2g} at most" in explained["shift"].words


def test_sinusoidal_in_the_layout_of_tensor2tensor():
    explained = pe.explain(pe.Sinusoidal(7, layout="concat", spacing="t2t"), position=2)
    assert columns(explained["frequencies"])["exponent"] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    told = columns(explained["angles"])
    assert told["dimension"] == [0, 1, 2, 3]
    assert told["cos"][-1] == ""  # the last sine has no partner
    assert [step.name for step in explained.steps][-1] == "addition"  # and so no shift


def test_learned_ends_at_its_table():
    explained = pe.explain("learned", dim=4, length=3, seed=7)
    rows = np.random.default_rng(7).normal(scale=0.02, size=(3, 4)).astype(np.float32)
    assert matrix(explained["encodings"]) == pytest.approx(rows)
    assert explained["beyond"].words.startswith("Position 3 has no row")
    looked_up = pe.explain("learned", dim=4, length=3, seed=7, position=1)["lookup"]
    assert looked_up.words.startswith("Position 1 is looked up")
    assert matrix(looked_up) == pytest.approx(rows[1:2])
    beyond = pe.explain("learned", dim=4, length=3, position=9)["beyond"]
    assert beyond.words.startswith("Position 9 has no row")
    with pytest.raises(ValueError, match=r"0 .. 2; got position 3"):
        pe.Learned(3, 4).encode([3], {"table": rows})


def test_rope(query_and_key):
    q, k = query_and_key
    w = 10_000.0 ** (-np.arange(4) / 4)
    explained = pe.explain("rope", position=3)
    told = columns(explained["frequencies"])
    assert told["frequency"] == pytest.approx(w)
    assert told["wavelength"] == pytest.approx(2 * np.pi / w)
    told = columns(explained["pairs"])
    assert told["channels"] == ["0, 1", "2, 3", "4, 5", "6, 7"]
    assert (told["x"], told["y"]) == (pytest.approx(q[0::2]), pytest.approx(q[1::2]))
    told = columns(explained["angles"])
    assert told["angle"] == pytest.approx(3 * w)
    assert told["cos"] == pytest.approx(np.cos(3 * w))
    assert told["sin"] == pytest.approx(np.sin(3 * w))
    after = turned(q, 3, w)
    told = columns(explained["rotation"])
    assert (told["x′"], told["y′"]) == (pytest.approx(after[0::2]), pytest.approx(after[1::2]))
    for i, formula in enumerate(explained["rotation"].formulas):
        c, s = math.cos(3 * w[i]), math.sin(3 * w[i])
        pair = slice(2 * i, 2 * i + 2)
        assert values_in(formula) == pytest.approx([c, -s, s, c, *q[pair], *after[pair]])
    assert matrix(explained["flattened"]) == pytest.approx(np.stack([q, after]))
    assert explained["norms"].table.rows[0] == pytest.approx([np.linalg.norm(q)] * 2)
    for m, n, distance, product, exchanged in explained["relative"].table.rows:
        assert distance == m - n
        assert product == pytest.approx(turned(q, m, w) @ turned(k, n, w))
        assert exchanged == pytest.approx(turned(k, m, w) @ turned(q, n, w))


@pytest.mark.parametrize("rotated", ["leading", "trailing"])
def test_the_channels_of_a_pair_follow_pairing_and_part(rotated):
    rope = pe.RoPE(10, rotary_dim=4, pairing="halves", rotated=rotated)
    first = 0 if rotated == "leading" else 6
    explained = pe.explain(rope, position=5)
    q = np.random.RandomState(42).randn(10)
    told = columns(explained["pairs"])
    assert told["channels"] == [f"{first}, {first + 2}", f"{first + 1}, {first + 3}"]
    assert told["x"] == pytest.approx(q[first : first + 2])
    assert told["y"] == pytest.approx(q[first + 2 : first + 4])


def test_yarn_frequency_by_frequency():
    explained = pe.explain("yarn", dim=64)
    told = columns(explained["frequencies"])
    w = 10_000.0 ** (-np.arange(32) / 32)
    low, high = (
        64 * math.log(4096 / (turns * 2 * math.pi)) / (2 * math.log(10_000)) for turns in (32, 1)
    )
    ramp = np.clip((np.arange(32) - math.floor(low)) / (math.ceil(high) - math.floor(low)), 0, 1)
    assert told["w"] == pytest.approx(w)
    assert told["turns"] == pytest.approx(4096 * w / (2 * np.pi))
    assert told["γ"] == pytest.approx(1 - ramp)
    assert told["w′"] == pytest.approx(ramp * w / 4 + (1 - ramp) * w)
    assert told["w′/w"] == pytest.approx(ramp / 4 + 1 - ramp)
    angles = columns(explained["angles"])
    assert angles["cos"] == pytest.approx(np.cos(3 * np.array(told["w′"])))
    assert angles["factor"] == pytest.approx([0.1 * math.log(4) + 1] * 32)
    assert values_in(explained["attention-factor"].formulas[0])[-1] == pytest.approx(
        0.1 * math.log(4) + 1
    )
    angles = columns(explained["angles"])
    assert angles["angle"] == pytest.approx(3 * np.array(told["w′"]))
    assert angles["cos"] == pytest.approx(np.cos(angles["angle"]))  # without the factor
    assert angles["sin"] == pytest.approx(np.sin(angles["angle"]))
    assert angles["factor"] == pytest.approx([0.1 * math.log(4) + 1] * 32)
    assert maths.text(explained["formula"].formulas[0]) == "θ_(p, i) = p · w′_i"
    _, worked = explained["frequencies"].formulas
    i, _, gamma, before, factor, again, before_again, after = values_in(worked)
    assert (gamma, before) == (again, before_again)
    assert after == pytest.approx((1 - gamma) * before / factor + gamma * before)
    assert after == pytest.approx(told["w′"][i])


def test_xpos_has_a_factor_for_each_pair():
    told = columns(pe.explain("xpos", position=3)["angles"])
    w, zeta = 10_000.0 ** (-np.arange(4) / 4), (np.arange(4) / 4 + 0.4) / 1.4
    assert told["cos"] == pytest.approx(np.cos(3 * w))
    assert told["sin"] == pytest.approx(np.sin(3 * w))
    assert told["factor"] == pytest.approx(zeta ** (3 / 512))
    x = np.random.RandomState(42).randn(2, 8)
    q, k = x[:, 0::2] + 1j * x[:, 1::2]
    for m, n, _, product, exchanged in pe.explain("xpos")["relative"].table.rows:
        turn = np.exp(1j * (m - n) * w) * zeta ** ((m - n) / 512)
        assert product == pytest.approx((q * k.conj() * turn).sum().real)
        assert exchanged == pytest.approx((k * q.conj() * turn).sum().real)


def test_a_scaling_that_depends_on_the_length_is_for_a_text_that_ends_at_the_position():
    explained = pe.explain(pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 4096)), position=8191)
    base, factor, *_, grown = values_in(explained["frequencies"].formulas[0])
    assert (base, factor) == (10_000, pytest.approx(3.0))
    assert grown == pytest.approx(10_000 * 3 ** (8 / 6))
    assert columns(explained["frequencies"])["w′"] == pytest.approx(grown ** (-np.arange(4) / 4))


@pytest.mark.parametrize(
    ("scaling", "formula"),
    [
        (pe.YaRN(4.0, 4096), "m = 0.1 · ln s + 1 = 1.1386"),
        (pe.YaRN(4.0, 4096, attention_factor=1.25), "m = 1.25"),
        (pe.YaRN(4.0, 4096, mscale=2.0, mscale_all_dim=1.0), "m = 1.1218"),
    ],
)
def test_the_attention_factor_says_where_it_is_from(scaling, formula):
    explained = pe.explain(pe.RoPE(8, scaling=scaling))
    assert [maths.text(f) for f in explained["attention-factor"].formulas] == [formula]


def test_the_formula_of_rope_turns_to_the_left():
    (_, turn) = pe.explain("rope")["formula"].formulas
    assert maths.text(turn) == "[x′; y′] = [cos θ −sin θ; sin θ cos θ][x; y]"


def test_the_formula_of_rope_has_the_channels_that_turn():
    (angle, _) = pe.explain(pe.RoPE(8, rotary_dim=4))["formula"].formulas
    assert maths.text(angle) == "θ_(p, i) = p · 10000^(−2i/4)"
    (angle, _) = pe.explain(pe.RoPE(8))["formula"].formulas
    assert maths.text(angle) == "θ_(p, i) = p · 10000^(−2i/d)"


def test_llama3_frequency_by_frequency():
    told = columns(pe.explain("llama3", dim=128)["frequencies"])
    w = 500_000.0 ** (-np.arange(64) / 64)
    wavelength = 2 * np.pi / w
    smooth = (8192 / wavelength - 1) / (4 - 1)
    scaled = np.where(
        wavelength > 8192,
        w / 8,
        np.where(wavelength < 8192 / 4, w, (1 - smooth) * w / 8 + smooth * w),
    )
    assert told["w′"] == pytest.approx(scaled)
    assert told["wavelength"] == pytest.approx(2 * np.pi / scaled)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("interpolation", lambda i: np.full(4, 0.25)),
        ("ntk", lambda i: 4.0 ** (-i / 3)),
        ("p-rope", lambda i: (i < 1) * 1.0),
    ],
)
def test_other_scalings(name, ratio):
    explained = pe.explain(name)
    assert columns(explained["frequencies"])["w′/w"] == pytest.approx(ratio(np.arange(4)))
    if name == "ntk":
        *_, base = values_in(explained["frequencies"].formulas[0])
        assert base == pytest.approx(10_000 * 4 ** (8 / 6))


def test_mrope_sections():
    explained = pe.explain("mrope", dim=16, position=3)
    told = columns(explained["sections"])
    assert told["axis"] == ["time"] * 2 + ["height"] * 3 + ["width"] * 3
    w = 10_000.0 ** (-np.arange(8) / 8)
    assert told["frequency"] == pytest.approx(w)
    assert columns(explained["angles"])["angle"] == pytest.approx(w * [3, 3, 4, 4, 4, 5, 5, 5])
    assert explained["positions"].table.rows[3] == ("image", 2, 2, 3)


def test_alibi():
    explained = pe.explain("alibi", heads=8, length=4)
    slopes = 2.0 ** -np.arange(1, 9)
    assert columns(explained["slopes"])["slope"] == pytest.approx(slopes)
    away = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    assert matrix(explained["bias-1"]) == pytest.approx(-slopes[0] * away)
    assert matrix(explained["bias-2"]) == pytest.approx(-slopes[1] * away)
    assert "-0.0 " not in str(explained)
    offset = pe.explain(pe.ALiBi(2, future="offset"), length=3)
    assert matrix(offset["bias-1"])[1] == pytest.approx(np.array([-0.5, 0, -1]) / 16)


def test_the_formula_of_slopes_makes_the_slopes_or_is_left_out():
    for encoding in (pe.ALiBi(8), pe.ALiBi(2), pe.ALiBi(12, slopes="paper")):
        step = pe.explain(encoding)["slopes"]
        (formula,) = step.formulas
        assert maths.text(formula) == f"m_h = 2^(−8h/{encoding.heads})"
        for h, slope in step.table.rows:
            assert slope == pytest.approx(2.0 ** (-8 * h / encoding.heads))
    assert pe.explain(pe.ALiBi(6))["slopes"].formulas == ()
    step = pe.explain(pe.ALiBi(8, divisor=2.0))["slopes"]
    assert [maths.text(formula) for formula in step.formulas] == ["m_h = 2^(−8h/8)/2"]
    for h, slope in step.table.rows:
        assert slope == pytest.approx(2.0**-h / 2)


@pytest.mark.parametrize(
    ("encoding", "key", "ahead"),
    [
        (pe.T5Bias(2), 3, True),
        (pe.T5Bias(2), 2, False),
        (pe.T5Bias(2, bidirectional=True), 3, False),
        (pe.FIRE(2), 3, True),
        (pe.ALiBi(2), 3, False),
    ],
)
def test_the_cell_of_a_key_that_is_not_seen_says_so(encoding, key, ahead):
    worked = cell(encoding, 2, key, encoding.init(np.random.default_rng(0)))
    said = (
        "Key 3 is ahead of query 2: a decoder does not see it, and its mask takes the place of "
        "this number."
    )
    assert (worked.steps[0].words == said) == ahead
    assert ("unseen" in [step.name for step in worked.steps]) == ahead


def test_t5_buckets():
    explained = pe.explain("t5", heads=2, length=3)
    told = columns(explained["buckets"])
    for n, bucket in zip(told["distance"], told["bucket"], strict=True):
        far = 16 + int(math.log(max(n, 16) / 16) / math.log(128 / 16) * 16)
        assert bucket == (n if n < 16 else min(far, 31))
    drawn = np.random.default_rng(0).normal(scale=0.02, size=(32, 2)).astype(np.float32)
    told = columns(explained["table"])
    assert told["bias"] == pytest.approx(drawn[told["bucket"], 0])
    behind = np.maximum(np.subtract.outer(np.arange(3), np.arange(3)), 0)
    assert matrix(explained["bias-2"]) == pytest.approx(drawn[behind, 1])
    assert "from 113 on all share one" in explained["buckets"].words
    both = pe.explain(pe.T5Bias(2, bidirectional=True))["buckets"]
    assert "from 91 on all share one" in both.words
    both = columns(both)
    assert both["bucket"][both["distance"].index(-8)] == 16 + 8
    (formula,) = explained["buckets"].formulas
    assert maths.text(formula) == "k = min(16 + ⌊(ln(n/16))/(ln(128/16)) · 16⌋, 31)"


@pytest.mark.parametrize("farthest", [17, 128, 10**6, 10**12])
def test_where_the_last_bucket_begins(farthest):
    bias = pe.T5Bias(2, max_distance=farthest)
    words = pe.explain(bias)["buckets"].words
    last = int(re.search(r"from (\d+) on all share one", words)[1])
    assert bias.buckets_of(np.array([last - 1, last, farthest])).tolist()[1:] == [31, 31]
    assert bias.buckets_of(np.array([last - 1]))[0] < 31


def test_clipped_distances():
    explained = pe.explain(pe.ClippedBias(1, 2), length=5)
    behind = np.subtract.outer(np.arange(5), np.arange(5))
    assert np.array_equal(matrix(explained["distances"]), behind)
    assert np.array_equal(matrix(explained["rows"]), np.clip(behind, -2, 2) + 2)
    drawn = np.random.default_rng(0).normal(scale=0.02, size=(5, 1)).astype(np.float32)
    assert matrix(explained["bias-1"]) == pytest.approx(drawn[np.clip(behind, -2, 2) + 2, 0])


def test_scores_by_their_logits():
    explained = pe.explain("shaw", length=4)
    q, k = np.random.default_rng(0).normal(size=(2, 1, 4, 8))
    assert matrix(explained["products"]) == pytest.approx(q[0] @ k[0].T / math.sqrt(8))
    table = pe.Shaw(8, 2).init(np.random.default_rng(0))["key_table"]
    p = np.arange(4)
    ahead = np.clip(p[None, :] - p[:, None], -2, 2) + 2  # Shaw's distance is j - i
    added = np.einsum("qd,qkd->qk", q[0], table[ahead]) / math.sqrt(8)
    assert matrix(explained["difference"]) == pytest.approx(added, abs=1e-6)
    assert matrix(explained["logits"]) == pytest.approx(
        matrix(explained["products"]) + matrix(explained["difference"])
    )


def test_products_are_divided_only_where_the_encoding_divides():
    unscaled = pe.Tempered(pe.T5Bias(1, scaled=False), pe.Llama4Temperature())
    q, k = np.random.default_rng(0).normal(size=(2, 1, 3, 8))
    told = pe.explain(unscaled, length=3)
    assert matrix(told["products"]) == pytest.approx(q[0] @ k[0].T)


@dataclass(frozen=True)
class Clock(pe.Additive):
    dim: int = 2

    def encode(self, positions, params=None, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.pi / 6
        return np.concat([np.sin(angle), np.cos(angle)], axis=-1)


def test_an_encoding_of_ones_own_is_worked_too():
    explained = pe.explain(Clock(), length=4)
    assert matrix(explained["encodings"])[3] == pytest.approx([1, 0])
    assert matrix(explained["addition"])[3] == pytest.approx([1.4, 0.5])


def test_steps_of_ones_own_can_be_registered():
    from posenc.explanation import Step, steps

    @dataclass(frozen=True)
    class Twelve(Clock):
        pass

    @steps.register
    def _(encoding: Twelve, asked: Question):
        yield Step("hour", f"{asked.position} o'clock")

    assert pe.explain(Twelve(), position=5)["hour"].words == "5 o'clock"


def of_size(name, **options):
    dim = {"dim": 16} if hasattr(next(iter(found(name).values())), "dim") else {}
    return pe.explain(name, length=2, **dim, **options)


@pytest.mark.parametrize("name", EVERY)
def test_every_encoding_in_every_language_and_form(name):
    english = of_size(name)
    for lang in LANGUAGES:
        same_steps(of_size(name, lang=lang), english, lang)


def same_steps(explained, english, lang):
    assert [s.name for s in explained.steps] == [s.name for s in english.steps]
    for mine, theirs in zip(explained.steps, english.steps, strict=True):
        assert mine.formulas == theirs.formulas
        assert (mine.words == theirs.words) == (lang == "en")
    for form in FORMS:
        assert "{" not in explained.shown(form) or form in ("json", "latex", "html", "markdown")
    data = json.loads(explained.shown("json"))
    for told, step in zip(data["steps"], explained.steps, strict=True):
        rows = [list(row) for row in step.table.rows] if step.table else None
        assert (told["table"] or {}).get("rows") == rows


@pytest.mark.parametrize("name", EVERY)
def test_every_encoding_begins_with_its_formula_in_letters(name):
    explained = of_size(name)
    first = explained.steps[0]
    assert first.name == "formula"
    letters = [leaf for f in first.formulas for leaf in leaves(f) if isinstance(leaf, str)]
    assert any(re.fullmatch(r"[a-zA-Zθ]|PE", letter) for letter in letters)
    names = [step.name for step in explained.steps]
    assert len(set(names)) == len(names)  # a page links to each of them


@pytest.mark.parametrize("name", EVERY)
def test_what_is_written_reads_well(name):
    text = str(of_size(name, position=1))
    for odd in (r"[+−·] -", r"\b1 rows", r"\b1 columns", r"-\d+ positions", r"\bnan\b", r"\binf\b"):
        assert not re.search(odd, text), odd


@pytest.mark.parametrize("name", EVERY)
def test_pages_are_well_formed(name):
    explained = of_size(name)
    page = ET.fromstring(
        explained.shown("html")
        .replace("<!doctype html>\n", "")
        .replace('<meta charset="utf-8">', "")
    )
    assert len(page.findall(".//math")) == sum(len(s.formulas) for s in explained.steps)
    assert len(page.findall(".//li")) == len(explained.steps)
    document = explained.shown("latex")
    assert document.isascii() or "�" not in document
    assert document.count(r"\begin{") == document.count(r"\end{")
    for formula in (f for s in explained.steps for f in s.formulas):
        shown = maths.latex(formula)
        assert shown.isascii(), shown
        assert shown.count("{") == shown.count("}")
    for block in explained.shown("markdown").split("\n\n"):
        if block.startswith("|"):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_tokens_are_not_read_as_markup():
    explained = pe.explain("alibi", heads=1, tokens=["a", "[SEP]", "*b*", "\\", "x_1", "<i>", "~"])
    latex = explained.shown("latex")
    rows = [line.split(" & ")[0] for line in latex.splitlines() if line.endswith(r" \\")]
    for name in (
        "{[}SEP] 1",
        "{*}b{*} 2",
        r"\textbackslash{} 3",
        r"x\_1 4",
        r"\textasciitilde{} 6",
    ):
        assert name in rows
    markdown = explained.shown("markdown")
    for name in (r"\[SEP\] 1", r"\*b\* 2", r"\\ 3", r"x\_1 4", r"\<i\> 5", r"\~ 6"):
        assert f"| {name} |" in markdown
    assert "<td>&lt;i&gt; 5</td>" in explained.shown("html")


def test_columns_stand_under_each_other_whatever_the_script():
    text = str(pe.explain("sinusoidal", tokens="我 爱 learning ＡＩ"))
    start = next(n for n, line in enumerate(text.splitlines()) if "我 0" in line)
    lines = text.splitlines()[start - 1 : start + 4]
    assert len({width(line) for line in lines}) == 1
    assert width("我a\u0301") == 3


def test_a_large_table_is_shortened_and_says_so_but_not_in_json():
    explained = pe.explain("sinusoidal", dim=64, length=100)
    text = str(explained)
    assert "48 columns are not shown; JSON has all of them" in text
    assert "61 rows are not shown; JSON has all of them" in text
    step = json.loads(explained.shown("json"))["steps"][3]
    assert np.array(step["table"]["rows"])[:, 1:].shape == (100, 64)


def test_digits():
    assert "0.295520207" in str(pe.explain("sinusoidal", digits=9))
    assert maths.number(1e-12) == "1e-12"
    assert maths.latex(1e-12) == r"1 \cdot 10^{-12}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"encoding": 7},
            "encoding must be an Encoding .*, a name, .*; got 7",
        ),
        ({"encoding": "rope", "position": -1}, "position must be a whole number of at least 0"),
        ({"encoding": "rope", "length": 0}, "length must be a whole number of at least 1"),
        ({"encoding": "rope", "length": 513}, "length must be .*513"),
        ({"encoding": "rope", "tokens": " "}, "tokens must be 1 .. 512; got 0"),
        (
            {"encoding": "rope", "tokens": "a b", "length": 2},
            "length must be left out where tokens",
        ),
        ({"encoding": "rope", "lang": "fr"}, "lang must be 'en' or"),
        ({"encoding": "rope", "digits": 0}, "digits must be a whole number of at least 1"),
        ({"encoding": pe.RoPE(8), "dim": 8}, "dim and heads are for names of encodings"),
        (
            {"encoding": "alibi", "dim": 8},
            "dim must be left out: .* in ALiBi; got dim=8",
        ),
        (
            {"encoding": "rope", "heads": 8},
            "heads must be left out: .* in RoPE; got heads=8",
        ),
        ({"encoding": "rope", "seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_what_cannot_be_explained_is_a_sentence(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pe.explain(**options)


def test_a_config_with_several_encodings_is_not_one(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {
                "model_type": "smollm3",
                "hidden_size": 64,
                "num_attention_heads": 4,
                "num_hidden_layers": 4,
                "max_position_embeddings": 64,
                "rope_theta": 1e4,
                "no_rope_layers": [1, 1, 1, 0],
            }
        )
    )
    assert len(found(str(path))) == 2
    with pytest.raises(
        ValueError, match=r"encoding must be one; got .* which has RoPE\(16.* and NoPE\(\)"
    ):
        pe.explain(str(path))


def test_a_form_that_is_not_there():
    with pytest.raises(ValueError, match="form must be one of text, markdown, latex, html, json"):
        pe.explain("rope").shown("pdf")
    with pytest.raises(ValueError, match="name must be that of a step, one of formula, "):
        pe.explain("rope")["nothing"]


class TestDemonstrations:
    """With the tutorials' own numbers (docs/seeds.md has what they print wrong)."""

    def test_permutation(self):
        shown = pe.demonstrate("permutation", lang="zh-Hans")
        x = np.random.default_rng(0).normal(size=(3, 8))
        logits = x @ x.T / math.sqrt(8)
        weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        assert matrix(shown["without-plain"]) == pytest.approx(weights)
        assert matrix(shown["without-shuffled"]) == pytest.approx(weights)
        assert np.abs(matrix(shown["with-plain"]) - matrix(shown["with-shuffled"])).max() > 0.05
        y = x + waves(range(3), 8)
        logits = y @ y.T / math.sqrt(8)
        weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        assert matrix(shown["with-plain"]) == pytest.approx(weights)
        assert shown["with-plain"].table.columns == ("", "狗", "咬", "人")
        assert "人咬狗" in shown["with-shuffled"].words

    def test_rope_relative_is_the_tutorials_table(self):
        told = [
            f"{m} {n} {d} {a:.6f} {b:.6f}"
            for m, n, d, a, b in pe.demonstrate("rope-relative")["relative"].table.rows
        ]
        assert told == [
            "0 0 0 -4.081900 -4.081900",
            "4 4 0 -4.081900 -4.081900",
            "10 0 10 -2.769302 -3.336345",
            "15 5 10 -2.769302 -3.336345",
            "18 8 10 -2.769302 -3.336345",
            "6 16 -10 -3.336345 -2.769302",
            "16 26 -10 -3.336345 -2.769302",
            "3 13 -10 -3.336345 -2.769302",
        ]

    def test_rope_steps_are_the_tutorials(self):
        text = str(pe.demonstrate("rope-steps"))
        for numbers in (
            "0.497  -0.138", "0.648   1.523", "-0.234  -0.234", "3.000", "0.300", "0.030",
            "-0.472   0.207", "0.169   1.646", "-0.227  -0.241",
            "-0.472   0.207  0.169  1.646  -0.227  -0.241", "2.48947373    2.48947373",
        ):  # fmt: skip
            assert numbers in text, numbers

    def test_addition_has_the_tutorials_embeddings(self):
        shown = pe.demonstrate("addition", lang="zh-Hans")
        assert [row[0] for row in shown["embeddings"].table.rows] == ["我", "爱", "学习", "AI"]
        embeddings = matrix(shown["embeddings"])
        assert embeddings[2] == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
        assert matrix(shown["addition"]) == pytest.approx(embeddings + waves(range(4), 8))

    @pytest.mark.parametrize("lang", LANGUAGES)
    @pytest.mark.parametrize("name", DEMONSTRATIONS)
    def test_commands(self, name, lang):
        run = CliRunner().invoke(main, ["demo", name, "--lang", lang])
        assert run.exit_code == 0
        assert run.stdout == str(pe.demonstrate(name, lang=lang))
        data = json.loads(CliRunner().invoke(main, ["demo", name, "--lang", lang, "--json"]).stdout)
        assert data == pe.demonstrate(name, lang=lang).to_json()
        assert (data["title"] == pe.demonstrate(name).title) == (lang == "en")

    def test_another_name(self):
        with pytest.raises(ValueError, match="name must be 'permutation' or 'rope-relative'"):
            pe.demonstrate("magic")


@pytest.mark.parametrize("form", FORMS)
def test_the_command_prints_every_form(form):
    run = CliRunner().invoke(main, ["explain", "rope", "--position", "5", "--format", form])
    assert run.exit_code == 0
    assert run.stdout == pe.explain("rope", position=5).shown(form)


@pytest.mark.parametrize(
    "arguments", [("rpoe",), ("rope", "--dim", "7"), ("RoPE(8)", "--dim", "8")]
)
def test_wrong_usage_of_the_command(arguments):
    run = CliRunner().invoke(main, ["explain", *arguments])
    assert run.exit_code == 2
    assert "Error: " in run.stderr
    assert run.stdout == ""
