"""Random features and masks for encodings that depend on the tokens."""

from dataclasses import dataclass, field

import numpy as np

import posenc as pe
from posenc.core.needs import FEATURE_DIM, draw_needs


@dataclass(frozen=True)
class Gated(pe.Scores):
    """Takes everything that there is."""

    feature_dim: int | None = None
    causal_only: bool = False
    needs: frozenset[str] = field(default=frozenset({"features", "mask"}), init=False)

    def scores(self, q, k, q_pos, k_pos, params=None, *, features, mask):
        return np.where(mask, q @ k.mT + features[1][..., None, :, 0], 0.0)


def test_what_is_needed_is_drawn_in_the_sizes_that_are_stated():
    for encoding, width in ((Gated(3), 3), (Gated(), FEATURE_DIM)):
        assert draw_needs(encoding, np.random.default_rng(0), 5)["features"].shape == (5, width)
    assert draw_needs(pe.ALiBi(2), np.random.default_rng(0), 5) == {}


def test_the_mask_hides_what_is_ahead_only_where_the_encoding_is_causal():
    rng = np.random.default_rng(0)
    assert draw_needs(Gated(), rng, 3)["mask"].all()
    causal = draw_needs(Gated(causal_only=True), rng, 3)["mask"]
    assert causal.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_one_seed_draws_one_text():
    one, other, third = (
        draw_needs(Gated(3), np.random.default_rng(seed), 4)["features"] for seed in (0, 0, 1)
    )
    assert np.array_equal(one, other)
    assert not np.array_equal(one, third)
