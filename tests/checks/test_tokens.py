"""The doctor on encodings that depend on the tokens or learn their rotation."""

import numpy as np
import pytest

import posenc as pe
from posenc.bench import costs
from posenc.checks.subject import Subject
from tests.checks import tokens
from tests.core import test_encoding as numpy_only
from tests.patient import check

SOUND = [
    tokens.Forgetting(),
    tokens.Turning(),
    tokens.Turning(pairing="halves"),
    tokens.Selective(),
    tokens.Gated(),
    pe.Tempered(tokens.Forgetting(), pe.LogN(512)),
    pe.Tempered(tokens.Turning(), pe.LogN(512)),
]


@pytest.mark.parametrize("encoding", SOUND, ids=repr)
@pytest.mark.parametrize("seed", [0, 8])
def test_what_depends_on_tokens_passes_what_it_claims(encoding, seed):
    report = check(encoding, seed=seed)
    assert report.failed == (), str(report)
    claimed = {row.name for row in report.rows if row.verdict == "holds"}
    assert set(encoding.traits.claims()) <= claimed, str(report)
    assert {"deterministic", "independent", "decodes", "gradient"} <= claimed, str(report)


@pytest.mark.parametrize(
    ("encoding", "rejected_by"),
    [(tokens.CountsHidden(), "decodes"), (tokens.Detached(), "gradient")],
    ids=repr,
)
def test_what_is_wrong_with_them_is_found(encoding, rejected_by):
    report = check(encoding)
    assert report.failed == (rejected_by,), str(report)


def test_a_gradient_is_taken_by_parameters_and_features():
    row = check(tokens.Detached())["gradient"]
    assert row.detail == "by a"


def test_the_two_pairings_of_learned_frequencies_are_one_model():
    assert check(tokens.Turning())["layout"].verdict == "holds"


def test_what_is_written_for_numpy_alone_is_checked_too():
    assert check(numpy_only.Turning(4)).failed == ()
    report = check(numpy_only.Forgetting(3))  # which takes as many queries as keys
    assert report.failed == ("decodes",)
    assert report["decodes"].detail.startswith("WrongShapeError: logits must be")


def test_a_mask_alone_is_no_order():
    class Blind(tokens.Forgetting):
        traits = pe.Traits()

        def fade(self, of_k, q_pos, k_pos, params):
            return 0.0 * of_k[..., 0]

    report = check(Blind())
    assert report["ordered"].verdict == "not claimed: does not hold"
    assert report["symmetric"].detail == "keys ahead of their query are hidden"


def test_what_looks_at_other_tokens_is_not_measured_alone():
    report = check(tokens.Forgetting())
    for name in ("unique", "bounded"):
        assert report[name].verdict == "not applicable"
        assert report[name].detail == "it depends on the other tokens that a query sees"
    told = str(pe.compare({"fox": tokens.Forgetting()}, bench=False))
    assert "repeat" not in told
    assert check(tokens.Gated())["bounded"].verdict == "not claimed: does not hold"


def test_a_token_has_the_same_features_in_every_call():
    subject = Subject(tokens.Forgetting(5), seed=3)
    p = np.arange(40)
    features = subject.features(p)
    assert features.shape == (40, 5)
    np.testing.assert_array_equal(features[7:9], subject.features(p[7:9]))
    assert len(np.unique(features[:, 0])) > 20
    assert not np.array_equal(features, Subject(tokens.Forgetting(5), seed=4).features(p))
    np.testing.assert_array_equal(features.astype(np.float16), features)


def test_features_and_mask_are_passed_on_in_pairs():
    subject = Subject(tokens.Forgetting(5))
    needed = subject.build_needs(np.array([3, 4]), np.array([2, 3, 4]))
    assert [each.shape for each in needed["features"]] == [(2, 5), (3, 5)]
    assert needed["mask"].tolist() == [[True, True, False], [True, True, True]]
    assert Subject(pe.RoPE(8)).build_needs(np.arange(2), np.arange(2)) == {}


@pytest.mark.parametrize("encoding", SOUND, ids=repr)
def test_what_depends_on_tokens_has_a_cost(encoding):
    cost = costs.measure(encoding, tokens=32, rounds=1)
    assert cost.tokens == 32
    assert cost.error < 1e-5


def test_what_depends_on_tokens_is_compared():
    table = pe.compare({"fox": tokens.Forgetting(), "turning": tokens.Turning()}, bench=False)
    assert table.ok
    assert [entry.trained for entry in table.entries] == [4, 2]
    assert "fox" in str(table)
