"""The doctor: every built-in passes its claims, every mutant is caught."""

import re
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import posenc as pe
from posenc.checks import ALL
from posenc.checks.engine import run
from posenc.checks.properties.fitting import fit
from posenc.checks.subject import Subject
from posenc.comparison.cells import headings
from posenc.encodings.registry import load_builtins
from posenc.i18n import translator
from tests.mutants.encodings import MUTANTS, Turned
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


SCALINGS = [
    pe.Interpolation(4.0),
    pe.NTK(4.0),
    pe.DynamicNTK(4.0, 4096),
    pe.YaRN(4.0, 4096),
    pe.YaRN(4.0, 4096, ramp="rotations", truncate=False),
    pe.YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=1.0),  # DeepSeek
    pe.Llama3(8.0, 8192),
    pe.Llama3(16.0, 8192, 1.0, 1.0),  # Llama 4 Scout: a step
    pe.Proportional(0.5),
    pe.Proportional(0.25, 8.0),
    pe.LongRoPE((1.0,) * 32, tuple(np.geomspace(1, 32, 32).tolist()), 4096, factor=32.0),
]


@pytest.mark.parametrize("scaling", SCALINGS, ids=repr)
def test_every_scaling_passes_what_it_claims(scaling):
    report = check(pe.RoPE(64, scaling=scaling))
    assert report.failed == ()
    if not isinstance(scaling, pe.LongRoPE):  # whose factors are searched, not made by a rule
        assert report["stretches"].verdict == "holds"


def test_every_scaling_is_among_those_checked():
    public = {kind for name in pe.__all__ if _is_scaling(kind := getattr(pe, name))}
    assert public == {type(scaling) for scaling in SCALINGS}


def _is_scaling(kind):
    return isinstance(kind, type) and issubclass(kind, pe.Scaling) and kind is not pe.Scaling


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


def test_a_rotation_that_comes_round_does_not_claim_to_be_unique():
    """Waves of 1 and 10 steps: every tenth row of an image of whole places is the same."""
    assert not pe.AxialRoPE.dinov3(8).traits.unique
    assert pe.AxialRoPE.dinov3(64).traits.unique
    assert check(pe.AxialRoPE.dinov3(8))["unique"].verdict == "not claimed: does not hold"


def test_errors_of_exact_are_told_apart():
    told = check(pe.RoPE(8))["exact"].detail
    labels = [part.partition(": ")[0] for part in told.split(", ")]
    assert labels == ["1e+02", "1e+03", "1e+04", "1e+05", "1e+06", "1e+07", "R(a) R(b)"]


@dataclass(frozen=True)
class Window(pe.Bias):
    """Keys 64 away or more are hidden; written with operators that NumPy and PyTorch share."""

    heads: int = 2

    @property
    def traits(self):
        return pe.Traits(any_length=True, relative=True, ordered=True, symmetric=True)

    def bias(self, q_pos, k_pos, params=None):
        away = abs(q_pos[..., None, :, None] - k_pos[..., None, None, :]) * 1.0
        hidden = away >= 64
        away[hidden] = np.inf
        return -0.5 * away


def test_biases_that_hide_keys_are_sound():
    report = check(Window())
    assert report.failed == (), str(report)
    assert report["gradient"].verdict == "holds"
    assert report["relative"].verdict == "holds"


@dataclass(frozen=True)
class HiddenHead(Window):
    """The second head sees nothing."""

    @property
    def traits(self):
        return pe.Traits(any_length=True, ordered=True, decays=True)

    def bias(self, q_pos, k_pos, params=None):
        made = pe.ALiBi(self.heads).bias(q_pos, k_pos)
        made[..., 1, :, :] = -np.inf
        return made


@pytest.mark.filterwarnings("error")
def test_a_head_that_hides_all_its_keys_is_left_out():
    report = check(HiddenHead())
    assert report.failed == (), str(report)
    assert report["ordered"].verdict == report["decays"].verdict == "holds"
    assert "nan" not in report["decays"].detail


@pytest.mark.parametrize("heads", [1, 2, 4, 8, 14, 16])
@pytest.mark.parametrize("kernel", ["log", "power"])
def test_a_bias_may_fall_slowly(heads, kernel):
    """An exponent of 0.05, as KERPLE draws them: a fall of 0.6 r1 in 2^14 places."""
    decays = [each for each in ALL if each.name == "decays"]
    for seed in range(20):
        report = run(pe.KERPLE(heads, kernel=kernel), decays, seed=seed, limit=LIMIT)
        assert report.failed == (), str(report)


@pytest.mark.parametrize(
    ("features", "base", "claimed"),
    [
        (8, 1e4, False),
        (16, 1e4, False),
        (32, 1e4, True),
        (128, 1e4, True),
        (32, 1e3, False),
        (32, 5e5, False),
        (128, 10.0, True),
        (128, 1e6, True),
        (128, 2.0, False),
    ],
)
def test_a_sum_of_few_waves_comes_back(features, base, claimed):
    decays = [each for each in ALL if each.name == "decays"]
    encoding = pe.Sandwich(4, features=features, base=base)
    row = run(encoding, decays, limit=LIMIT).rows[0]
    assert row.verdict == ("holds" if claimed else "not claimed: does not hold"), row


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_the_slowest_kernel_decays(kernel):
    @dataclass(frozen=True)
    class Slowest(pe.KERPLE):
        def init(self, rng):
            return {name: np.full(self.heads, 0.01) for name in ("r1", "r2")}

    assert check(Slowest(2, kernel=kernel))["decays"].verdict == "holds"


def test_a_bias_that_hides_every_key_says_nothing_of_decay():
    @dataclass(frozen=True)
    class Blind(HiddenHead):
        def bias(self, q_pos, k_pos, params=None):
            return super().bias(q_pos, k_pos) - np.inf

    assert check(Blind())["decays"].verdict == "not applicable"


def test_what_is_hidden_must_stay_so():
    @dataclass(frozen=True)
    class Flickers(Window):
        def bias(self, q_pos, k_pos, params=None):
            made = super().bias(q_pos, k_pos)
            calls.append(1)
            made[..., :1, :] = -np.inf if len(calls) % 3 else 0.0
            return made

    calls = []
    assert "deterministic" in check(Flickers()).failed

    @dataclass(frozen=True)
    class Endless(Window):
        def bias(self, q_pos, k_pos, params=None):
            return -super().bias(q_pos, k_pos)

    assert "finite" in check(Endless()).failed


@pytest.mark.parametrize(("length", "dim"), [(1, 4), (8, 4), (9, 4), (64, 32)])
def test_a_shift_of_a_few_positions_is_nothing_to_be_measured(length, dim):
    row = check(pe.Learned(length, dim))["linear_shift"]
    assert (row.verdict, row.measured) == ("not applicable", None)
    assert row.detail == f"positions end at {length - 1}, too soon to fit a matrix"


def test_every_check_rejects_a_mutant():
    by = {check for _, check in MUTANTS.values()} | {"castproof"}  # which has its own test
    assert {check.name for check in ALL} == by
    assert len(MUTANTS) >= 25


def test_the_sound_parents_of_the_mutants_pass():
    for parent in {base for e, _ in MUTANTS.values() for base in type(e).__mro__[1:2]}:
        if parent.__module__.endswith("mutants.encodings"):
            assert check(parent()).failed == (), parent


@pytest.mark.parametrize(
    "encoding", [pe.Sinusoidal(1024), pe.AxialSinusoidal.mae(1024), pe.FourierFeatures.sam(1024)]
)
def test_a_shift_of_1024_channels_is_measured_without_large_solvers(encoding, monkeypatch):
    """LAPACK's threads took over 20 s for a system of 768 channels while other programs ran."""

    def bounded(solver):
        def call(a, *others, **options):
            assert max(a.shape) <= 64
            return solver(a, *others, **options)

        return call

    for name in ("lstsq", "svd", "solve", "cholesky", "qr", "eigh", "inv"):
        monkeypatch.setattr(np.linalg, name, bounded(getattr(np.linalg, name)))
    shift = [each for each in ALL if each.name == "linear_shift"]
    assert run(encoding, shift, limit=LIMIT).ok


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_a_fit_by_blocks_is_that_of_lapack(count):
    rows, targets = (np.random.default_rng(0).normal(size=(300, n)) for n in (count, 5))
    expected, *_ = np.linalg.lstsq(rows, targets, rcond=None)
    np.testing.assert_allclose(fit(rows, targets), expected, atol=1e-9)
    twice = np.concatenate([rows, rows], axis=1)  # channels that depend on one another
    np.testing.assert_allclose(twice @ fit(twice, targets), rows @ expected, atol=1e-4)
    assert not fit(np.zeros((9, count)), np.zeros((9, 2))).any()


def test_one_channel_of_1024_that_does_not_shift_is_found():
    @dataclass(frozen=True)
    class OneBent(pe.Sinusoidal):
        def encode(self, positions, params=None, *, dtype=None):
            made = super().encode(positions, params, dtype=dtype)
            made[..., 700] += 1e-3 * made[..., 100] ** 2
            return made

    shift = [each for each in ALL if each.name == "linear_shift"]
    assert run(OneBent(1024), shift, limit=LIMIT).failed == ("linear_shift",)


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


def test_a_field_that_changes_nothing_is_no_stale_cache():
    @dataclass(frozen=True)
    class WithRate(Turned):
        dropout_rate: float = 0.1

    assert check(WithRate()).failed == ()


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
