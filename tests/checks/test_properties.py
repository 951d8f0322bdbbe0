"""The doctor: every built-in passes its claims, every mutant is caught."""

import re
from itertools import product

import numpy as np
import pytest

import posenc as pe
from posenc.checks import ALL
from posenc.checks.engine import run
from posenc.checks.subject import Subject
from posenc.comparison.cells import headings
from posenc.encodings.registry import load_builtins
from posenc.i18n import translator
from tests.mutants.encodings import MUTANTS
from tests.mutants.wide import DIM, HEADS, WIDE
from tests.patient import LIMIT, check
from tests.slow import in_turn, slow
from tests.test_project import ROOT

BUILTIN = [*load_builtins().values()]


@pytest.mark.parametrize("kind", BUILTIN)
def test_every_built_in_passes_what_it_claims(kind):
    report = check(kind.example())
    assert report.failed == ()
    claimed = {row.name for row in report.rows if row.verdict == "holds"}
    assert set(kind.example().traits.claims()) <= claimed


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_is_rejected_by_the_check_it_names(name):
    encoding, rejected_by = MUTANTS[name]
    report = run(encoding, [each for each in ALL if each.name == rejected_by], limit=LIMIT)
    assert report.failed == (rejected_by,), str(report)


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "rejected_by"), [*MUTANTS.values(), *WIDE.values()])
def test_every_mutant_is_rejected_among_all_checks(encoding, rejected_by):
    report = check(encoding)
    assert rejected_by in report.failed, str(report)


@pytest.mark.parametrize("name", WIDE)
def test_few_positions_suffice_for_what_is_very_wide(name):
    encoding, rejected_by = WIDE[name]
    assert Subject(encoding).very_wide
    report = run(encoding, [each for each in ALL if each.name == rejected_by], limit=LIMIT)
    assert report.failed == (rejected_by,), str(report)


def test_what_is_very_wide_and_sound_passes():
    for seed in (0, 1, 8):
        assert check(pe.TransformerXL(HEADS, DIM), seed=seed).failed == ()


PRESETS = {
    "AxialRoPE.split": [pe.AxialRoPE.split(64), pe.AxialRoPE.split(16, shares=(2, 6))],
    "AxialRoPE.rope_vit": [pe.AxialRoPE.rope_vit(64), pe.AxialRoPE.rope_vit(8, base=10_000.0)],
    "AxialRoPE.qwen2_vl_vision": [pe.AxialRoPE.qwen2_vl_vision(80)],
    "AxialRoPE.pixtral": [pe.AxialRoPE.pixtral(64), pe.AxialRoPE.pixtral(8)],
    "AxialRoPE.dinov3": [pe.AxialRoPE.dinov3(dim) for dim in (64, 8, 4)],
    "AxialRoPE.mrope": [
        pe.AxialRoPE.mrope(16, sections=(4, 2, 2)),
        pe.AxialRoPE.mrope(128, sections=(16, 24, 24), base=1e6),
        pe.AxialRoPE.mrope(128, sections=(24, 20, 20), interleaved=True, base=5e6),
        pe.AxialRoPE.mrope(64, sections=(8, 4, 4), rotary_dim=32, scaling=pe.YaRN(4.0, 4096)),
        pe.AxialRoPE.mrope(16, sections=(4, 4), interleaved=True, scaling=pe.Proportional(0.5)),
    ],
    "AxialSinusoidal.mae": [pe.AxialSinusoidal.mae(64)],
    "AxialSinusoidal.detr": [pe.AxialSinusoidal.detr(64)],
    "FourierFeatures.sam": [pe.FourierFeatures.sam(64)],
    "ALiBi.falcon": [pe.ALiBi.falcon(8, 64)],
}


@pytest.mark.parametrize("encoding", [e for each in PRESETS.values() for e in each], ids=repr)
def test_every_preset_passes_what_it_claims(encoding):
    report = check(encoding)
    assert report.failed == (), str(report)


def test_every_preset_is_among_those_checked():
    found = {
        f"{kind.__name__}.{name}"
        for kind in BUILTIN
        for name, value in vars(kind).items()
        if isinstance(value, classmethod) and name != "example"
    }
    assert found == set(PRESETS)


def test_errors_of_exact_are_told_apart():
    told = check(pe.RoPE(8))["exact"].detail
    labels = [part.partition(": ")[0] for part in told.split(", ")]
    assert labels == ["1e+02", "1e+03", "1e+04", "1e+05", "1e+06", "1e+07", "R(a) R(b)"]


def test_every_check_rejects_a_mutant():
    by = {check for _, check in MUTANTS.values()} | {"castproof"}  # which has its own test
    assert {check.name for check in ALL} == by
    assert len(MUTANTS) >= 25


def test_the_sound_parents_of_the_mutants_pass():
    for parent in {base for e, _ in MUTANTS.values() for base in type(e).__mro__[1:2]}:
        if parent.__module__.endswith("mutants.encodings"):
            assert check(parent()).failed == (), parent


SOUND = [
    pe.RoPE(2),
    pe.RoPE(64, rotary_dim=2),
    pe.RoPE(64, base=1e6, rotary_dim=32, rotated="trailing"),
    pe.Sinusoidal(1),
    pe.Sinusoidal(2),
    pe.AxialRoPE.split(6, axes=3),
    pe.SwinBias(1, (1, 1)),
    pe.SwinBias(2, (1, 2)),
    pe.Learned(1, 8),
    pe.ALiBi(1),
    pe.XPos(2),
    pe.Tempered(pe.RoPE(64), pe.LogN(512)),
    pe.Tempered(pe.ALiBi(4), pe.LogN(512)),
    pe.Tempered(pe.T5Bias(4), pe.LogN(512)),
    pe.KERPLE(2, kernel="power"),  # exponents of 0.08 and 0.03
    pe.KERPLE(16, kernel="power"),  # an exponent is drawn beside its bound
]


@pytest.mark.parametrize("encoding", SOUND, ids=str)
def test_no_false_alarm_on_odd_sizes(encoding):
    assert check(encoding).failed == ()


DRAWN = [kind for kind in BUILTIN if kind.example().init(np.random.default_rng(0))]
"""Those with parameters, which a seed draws; of others it draws what they are asked for only."""


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *in_turn([*DRAWN, pe.RoPE, pe.ALiBi], of=(1, 8)),
        *slow(*product([kind for kind in BUILTIN if kind not in DRAWN], (1, 8))),
    ],
)
def test_built_ins_pass_for_other_seeds(kind, seed):
    assert check(kind.example(), seed=seed).failed == ()


def test_the_docs_tell_every_check():
    text = (ROOT / "docs" / "checks.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [each.name for each in ALL]
    for each in ALL:
        assert f"| `{each.name}` | {each.what} | {each.why} |" in text, each.name


@pytest.mark.parametrize(
    ("lang", "title"),
    [("en", "any length"), ("ja", "任意長"), ("zh-Hans", "任意长度"), ("zh-Hant", "任意長度")],
)
def test_that_far_positions_are_accepted_is_not_called_extrapolation(lang, title):
    """RoPE accepts any position, and yet does badly beyond its training: the tour says so."""
    row = check(pe.RoPE(8))["any_length"]
    assert row.verdict == "holds"
    assert translator(lang)(row.name.replace("_", " ")) == title
    assert headings(lang)["any_length"] == title
    assert "training" not in row.why
