"""The worked examples of the five tutorials that posenc was asked for from.

Each test names its tutorial (seed 000 to 004). Where a tutorial prints a wrong number, the test has
the right one, and docs/seeds.md says why. What is expected is written here from the formulas, or is
the tutorial's own code, and never comes from posenc.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import posenc as pe
from posenc.torch import AddPositions


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def formula(position: int, channel: int, dim: int) -> float:
    """PE of all five tutorials: a sine in channel 2i and a cosine in channel 2i + 1."""
    angle = position / 10000 ** (channel // 2 * 2 / dim)
    return math.cos(angle) if channel % 2 else math.sin(angle)


def table(length: int, dim: int) -> np.ndarray:
    return np.array([[formula(p, c, dim) for c in range(dim)] for p in range(length)])


def closest(encoded: np.ndarray) -> float:
    """The distance between the two rows that are most alike."""
    gaps = np.linalg.norm(encoded[:, None] - encoded, axis=-1)
    return gaps[~np.eye(len(encoded), dtype=bool)].min()


# Seed 000, Japanese ---------------------------------------------------------------------------


def seed_000(max_len: int, d_model: int) -> np.ndarray:
    """The tutorial's code, with the brackets it lost."""
    pos = np.arange(max_len)[:, np.newaxis]
    i = np.arange(d_model)[np.newaxis, :]
    angle = pos / np.power(10000, (2 * (i // 2)) / np.float32(d_model))
    encoded = np.zeros((max_len, d_model))
    encoded[:, 0::2] = np.sin(angle[:, 0::2])
    encoded[:, 1::2] = np.cos(angle[:, 1::2])
    return encoded


@pytest.mark.parametrize("dim", [2, 4, 7, 8, 64, 512])
def test_000_formula_and_code(dim):
    encoded = pe.Sinusoidal(dim).encode(range(50))
    close(encoded, table(50, dim))
    close(encoded, seed_000(50, dim))


def test_000_table_of_three_positions():
    # The tutorial prints 0.41 for cos 2 and -0.98 for cos 3.
    rows = [[0.84, 0.54, 0.01], [0.91, -0.42, 0.02], [0.14, -0.99, 0.03]]
    assert pe.Sinusoidal(4).encode([1, 2, 3])[:, :3].round(2).tolist() == rows


def test_000_third_channel_of_that_table_means_four_dimensions():
    waves = {dim: pe.Sinusoidal(dim).encode([1, 2, 3])[:, 2].round(2) for dim in range(3, 129)}
    assert [dim for dim, wave in waves.items() if wave.tolist() == [0.01, 0.02, 0.03]] == [4]


def test_000_every_position_is_different():
    close(closest(pe.Sinusoidal(64).encode(range(200))), 1.4718, 6e-5)


def test_000_low_dimensions_are_fast_and_high_ones_slow():
    encoding = pe.Sinusoidal(64)
    signs = np.sign(encoding.encode(range(1, 20_001)))
    crossings = np.count_nonzero(np.diff(signs, axis=0), axis=0)
    close(crossings, 2 * 20_000 / encoding.wavelengths(), 1.0)
    assert np.all(np.diff(encoding.wavelengths()[::2]) > 0)


def test_000_longest_wave():
    # The tutorial says 10,000 pi. The paper's limit is 20,000 pi; only t2t's spacing gets there.
    longest = [pe.Sinusoidal(dim).wavelengths()[-1] / math.pi for dim in (4, 8, 64, 512)]
    close(longest, [200, 2000, 14_997.884, 19_293.232], 1e-3)
    close(pe.Sinusoidal(512, spacing="t2t").wavelengths()[-1] / math.pi, 20_000, 1e-9)
    assert pe.Sinusoidal(512).wavelengths()[0] == 2 * math.pi


def test_000_lengths_never_seen():
    far = pe.Sinusoidal(8).encode([1_000_000])[0]
    close(far, [formula(1_000_000, channel, 8) for channel in range(8)], 1e-9)


@pytest.mark.parametrize("distance", [0, 1, 5, 100])
def test_000_phase_difference_is_relative_distance(distance):
    encoding, starts = pe.Sinusoidal(32), np.array([0, 3, 50, 4000])
    products = np.sum(encoding.encode(starts) * encoding.encode(starts + distance), axis=-1)
    expected = sum(math.cos(distance / 10000 ** (2 * i / 32)) for i in range(16))
    close(products, expected, 1e-10)


def test_000_position_and_difference_can_be_estimated():
    encoding = pe.Sinusoidal(64)
    noise = np.random.default_rng(0).normal(scale=0.2, size=(3, 64))
    found = encoding.locate(encoding.encode([3, 50, 2000]) + noise)
    assert found.tolist() == [3, 50, 2000]
    assert np.diff(found).tolist() == [47, 1950]


# Seed 001, Simplified Chinese -----------------------------------------------------------------

SENTENCE = ["我", "爱", "学习", "AI"]
EMBEDDINGS = np.array(
    [
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
        [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1],
    ]
)
# The tutorial adds made-up rows, such as 0.5 in every channel of position 3.
INPUTS = [
    [0.1, 1.2, 0.3, 1.4, 0.5, 1.6, 0.7, 1.8],
    [1.0415, 0.8403, 0.4998, 1.4950, 0.6100, 1.69995, 0.8010, 1.9000],
    [1.2093, -0.0161, 0.6987, 1.5801, 0.7200, 1.7998, 0.9020, 2.0000],
    [0.5411, -0.4900, 0.8955, 1.6553, 0.8300, 1.89955, 1.0030, 2.1000],
]


def test_001_embedding_plus_encoding():
    positions = pe.consecutive(len(SENTENCE))
    close(pe.Sinusoidal(8).add(EMBEDDINGS, positions), EMBEDDINGS + table(4, 8))
    close(pe.Sinusoidal(8).add(EMBEDDINGS, positions), INPUTS, 6e-5)


def test_001_embedding_plus_encoding_as_a_module():
    x = torch.tensor(EMBEDDINGS, dtype=torch.float32)[None]
    added = AddPositions(pe.Sinusoidal(8))(x)
    assert added.dtype == torch.float32
    close(added[0], EMBEDDINGS + table(4, 8), 3e-7)


def test_001_positions_0_1_2():
    # 10000^0.25 is 10: the tutorial's sin(0.01), sin(0.001), sin(0.0001) are ten times too small.
    sin, cos = math.sin, math.cos
    expected = [
        [0, 1, 0, 1, 0, 1, 0, 1],
        [sin(1), cos(1), sin(0.1), cos(0.1), sin(0.01), cos(0.01), sin(0.001), cos(0.001)],
        [sin(2), cos(2), sin(0.2), cos(0.2), sin(0.02), cos(0.02), sin(0.002), cos(0.002)],
    ]
    close(pe.Sinusoidal(8).encode([0, 1, 2]), expected, 1e-15)


def test_001_values_lie_between_minus_one_and_one():
    encoded = pe.Sinusoidal(8).encode(range(10_000))
    assert -1 <= encoded.min() < -0.999
    assert 0.999 < encoded.max() <= 1


def test_001_each_sine_and_its_cosine_lie_on_a_circle():
    # So 0.5, 0.5 at position 3 and 0.9, 0.4 at position 2 belong to no position.
    pairs = pe.Sinusoidal(8).encode(range(100)).reshape(100, 4, 2)
    close(np.sum(pairs**2, axis=-1), 1)


def test_001_sinusoidal_has_nothing_to_learn():
    assert list(AddPositions(pe.Sinusoidal(8)).parameters()) == []


# Seed 002, Traditional Chinese ----------------------------------------------------------------


def test_002_low_dimensions_change_fast_and_high_ones_slowly():
    steps = np.abs(np.diff(pe.Sinusoidal(16).encode(range(10_000)), axis=0))
    largest = [2 * math.sin(10000 ** (-2 * i / 16) / 2) for i in range(8)]
    close(steps.max(axis=0), np.repeat(largest, 2), 1e-3)


def test_002_learned_encoding_is_a_row_of_a_table():
    rows = np.arange(12.0).reshape(4, 3)
    encoded = pe.Learned(4, 3).encode([2, 0, 2], {"table": rows})
    assert encoded.tolist() == [[6, 7, 8], [0, 1, 2], [6, 7, 8]]
    assert pe.Learned(4, 3).init(np.random.default_rng(0))["table"].shape == (4, 3)


def test_002_training_moves_the_rows_that_were_used():
    torch.manual_seed(0)
    add = AddPositions(pe.Learned(6, 4))
    before = add.params["table"].detach().clone()
    optimiser = torch.optim.SGD(add.parameters(), lr=0.5)
    add(torch.zeros(1, 2, 4), torch.tensor([1, 3])).sum().backward()
    optimiser.step()
    moved = np.zeros((6, 4))
    moved[[1, 3]] = -0.5
    close(add.params["table"].detach() - before, moved, 1e-6)


def test_002_sinusoidal_has_no_length_and_learned_has_one():
    assert pe.Sinusoidal(4).traits.any_length
    assert not pe.Learned(6, 4).traits.any_length
    assert AddPositions(pe.Sinusoidal(4))(torch.zeros(1, 7, 4)).shape == (1, 7, 4)
    with pytest.raises(ValueError, match=r"0 \.\. 5; got position 6"):
        AddPositions(pe.Learned(6, 4))(torch.zeros(1, 7, 4))


# Seed 003, Chinese with damaged characters ----------------------------------------------------


class PositionalEncoding(nn.Module):
    """The tutorial's own module."""

    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        encoded = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).unsqueeze(1).float()
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        encoded[:, 0::2] = torch.sin(position * div_term)
        encoded[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", encoded.unsqueeze(0))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[:, : x.size(1)]


class LearnablePositionalEncoding(nn.Module):
    """The tutorial's own module, with the import it lacks."""

    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        self.pos_embedding = nn.Embedding(max_len, d_model)

    def forward(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.size(1)).to(x.device)
        return x + self.pos_embedding(positions).unsqueeze(0)


def test_003_module():
    x = torch.randn(1, 10, 512, generator=torch.Generator().manual_seed(0))
    theirs, ours = PositionalEncoding(512)(x), AddPositions(pe.Sinusoidal(512))(x)
    assert ours.shape == theirs.shape == (1, 10, 512)
    close(ours, theirs, 1e-6)


def test_003_angles_in_float32_lose_digits():
    # The tutorial's table is float32 and so are its angles, which is what spoils it.
    theirs = PositionalEncoding(512).pe[0]
    ours = pe.Sinusoidal(512).encode(range(5000), dtype=np.float32)
    exact = pe.Sinusoidal(512).encode(range(5000))
    # Half an ulp of an angle in [4096, 5000) is 2.4e-4, which some position comes near to; rounding
    # the exponent and its exponential adds at most 5000 times 2^-24 each, on any processor.
    assert 2e-4 < np.abs(theirs.numpy() - exact).max() < 2.5e-4 + 2 * 5000 * 2.0**-24
    assert np.abs(ours - exact).max() < 1.5e-7


def test_003_buffer_ends_where_posenc_goes_on():
    x = torch.zeros(1, 17, 8)
    with pytest.raises(RuntimeError, match="must match"):
        PositionalEncoding(8, max_len=16)(x)
    close(AddPositions(pe.Sinusoidal(8))(x)[0], table(17, 8), 3e-7)


def test_003_odd_dimension():
    with pytest.raises(RuntimeError, match="must match"):
        PositionalEncoding(7)
    close(AddPositions(pe.Sinusoidal(7))(torch.zeros(1, 5, 7))[0], table(5, 7), 3e-7)


def test_003_learnable_module():
    torch.manual_seed(0)
    theirs, ours = LearnablePositionalEncoding(16, max_len=32), AddPositions(pe.Learned(32, 16))
    x = torch.randn(2, 10, 16)
    assert not torch.allclose(ours(x), theirs(x))
    ours.load_state_dict({"params.table": theirs.pos_embedding.weight})
    assert torch.equal(ours(x), theirs(x))


def test_003_data_of_the_heatmap():
    positions = np.arange(100).reshape(-1, 1)
    div_term = np.exp(-np.log(10000) * np.arange(0, 64, 2) / 64)
    encoded = np.zeros((100, 64))
    encoded[:, 0::2] = np.sin(positions * div_term)
    encoded[:, 1::2] = np.cos(positions * div_term)
    close(pe.Sinusoidal(64).encode(range(100))[:20, :32], encoded[:20, :32])


# Seed 004, Simplified Chinese -----------------------------------------------------------------


@dataclass(frozen=True)
class Nothing(pe.Additive):
    """No positional encoding at all."""

    dim: int

    def encode(self, positions: Any, params: Any = None, *, dtype: Any = None) -> np.ndarray:
        return np.zeros((*np.shape(positions), self.dim), dtype)


def attention(encoding: pe.Additive, x: np.ndarray, positions: Any) -> np.ndarray:
    """Softmax attention of x to itself, where positions act on queries and keys."""
    weights = np.exp(pe.logits(encoding, x, x, positions, positions))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ x


ORDER = [3, 0, 4, 2, 1]
TOKENS = np.random.default_rng(0).normal(size=(5, 8))


def test_004_attention_alone_knows_no_order():
    plain, shuffled = (attention(Nothing(8), x, range(5)) for x in (TOKENS, TOKENS[ORDER]))
    close(shuffled, plain[ORDER])


def test_004_an_encoding_breaks_the_symmetry():
    encoding = pe.Sinusoidal(8)
    plain, shuffled = (attention(encoding, x, range(5)) for x in (TOKENS, TOKENS[ORDER]))
    assert np.abs(shuffled - plain[ORDER]).max() > 0.1
    # The order is in the positions only: shuffled with their tokens, they change nothing.
    close(attention(encoding, TOKENS[ORDER], ORDER), plain[ORDER])


def test_003_dog_bites_man_and_man_bites_dog():
    dog, bites, man = TOKENS[:3]
    for encoding, same in ((Nothing(8), True), (pe.Sinusoidal(8), False)):
        before = attention(encoding, np.stack([dog, bites, man]), range(3))
        after = attention(encoding, np.stack([man, bites, dog]), range(3))
        assert np.allclose(before, after[::-1]) == same


def test_004_unique_and_deterministic():
    encoded = pe.Sinusoidal(8).encode(range(1000))
    close(closest(encoded), 0.6453, 6e-5)
    # A position has one encoding, whatever stands around it.
    batch = np.array([[7, 999], [0, 7]])
    assert np.array_equal(pe.Sinusoidal(8).encode(batch), encoded[batch])


@pytest.mark.parametrize("k", [1, -3, 100])
def test_004_moving_by_k_is_linear(k):
    encoding, positions = pe.Sinusoidal(8), np.array([3, 50, 777])
    w = 10000.0 ** (-np.arange(0, 8, 2) / 8)
    expected = np.zeros((8, 8))
    for pair, angle in enumerate(k * w):
        block = [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        expected[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = block
    close(encoding.shift(k), expected)
    close(encoding.encode(positions) @ expected.T, encoding.encode(positions + k))


def test_004_learned_ends_with_its_table():
    encoding = pe.Learned(512, 4)
    params = encoding.init(np.random.default_rng(0))
    assert encoding.encode([511], params).shape == (1, 4)
    for position in (512, -1):
        with pytest.raises(ValueError, match=rf"0 \.\. 511; got position {position}$"):
            encoding.encode([position], params)


def test_004_extends_to_images():
    encoded = pe.AxialSinusoidal(16, axes=2).encode(pe.grid(5, 7))
    close(encoded, [[*table(5, 8)[row], *table(7, 8)[column]] for row, column in pe.grid(5, 7)])
    assert len(np.unique(encoded, axis=0)) == 35


def test_003_rope_module():
    """Its `rotate_half` pairs a channel with the one half a vector on."""

    def rotate_half(x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        return torch.cat([-x[..., half:], x[..., :half]], dim=-1)

    dim, length = 16, 12
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, dim, 2).double() / dim)
    angles = torch.cat([angles, angles], dim=-1)
    x = torch.randn(2, 3, length, dim, dtype=torch.float64)
    theirs = x * angles.cos() + rotate_half(x) * angles.sin()
    ours = pe.RoPE(dim, pairing="halves").rotate(x, torch.arange(length))
    close(ours, theirs)
    assert not torch.allclose(pe.RoPE(dim).rotate(x, torch.arange(length)), theirs)


def test_004_rope_table_of_relative_products():
    legacy = np.random.RandomState(42)
    q, k = legacy.randn(1, 8), legacy.randn(1, 8)
    rope = pe.RoPE(8)
    rows = [
        *[(0, 0, "-4.081900", "-4.081900"), (4, 4, "-4.081900", "-4.081900")],
        *[(m, n, "-2.769302", "-3.336345") for m, n in ((10, 0), (15, 5), (18, 8))],
        *[(m, n, "-3.336345", "-2.769302") for m, n in ((6, 16), (16, 26), (3, 13))],
    ]
    for m, n, here, exchanged in rows:
        for first, second, printed in ((m, n, here), (n, m, exchanged)):
            product = rope.rotate(q, [first]) @ rope.rotate(k, [second]).T
            assert f"{product.item():.6f}" == printed


def test_004_decay_is_a_property_of_aligned_content(rng):
    """Mean cosines fall with distance; products of random queries and keys do not."""
    w = pe.RoPE(128).frequencies()
    kernel = [np.cos(r * w).mean() for r in (0, 10, 100, 1000)]
    assert kernel == sorted(kernel, reverse=True)
    q, k = rng.normal(size=(2, 4000, 128))
    for r in (0, 10, 1000):
        products = np.sum(pe.RoPE(128).rotate(q, [r] * 4000) * k, axis=-1)
        assert abs(products.std() / np.sqrt(128) - 1) < 0.05
