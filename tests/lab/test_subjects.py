"""Encodings of runs: found, sized, refused, extended."""

from dataclasses import replace

import pytest

import posenc as pe
from posenc.lab.subjects import count_rows, extend, find_encoding, hash_code, parse_subject
from tests.lab.runs import TINY

MINE = """
from dataclasses import dataclass
from posenc import Additive, ALiBi, Bias, Rotary
import numpy as np

@dataclass(frozen=True)
class Mine(Bias):
    heads: int
    def bias(self, q_pos, k_pos, params=None):
        return np.zeros((self.heads, len(q_pos), len(k_pos)))

steep = ALiBi(2)
"""


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("rope", pe.RoPE(8)),
        ("ALiBi", pe.ALiBi(2)),
        ("sinusoidal", pe.Sinusoidal(16)),
        ("learned", pe.Learned(10, 16)),  # start, 4 symbols, ask, 4 symbols: the end is not seen
        ("RoPE(8, base=100.0)", pe.RoPE(8, base=100.0)),
    ],
)
def test_a_name_is_sized_for_the_model(name, encoding):
    assert find_encoding(replace(TINY, encoding=name)) == encoding


def test_a_table_is_as_long_as_its_positions_may_be():
    assert count_rows(TINY) == 10
    assert count_rows(replace(TINY, positions="offsets")) == 18
    assert count_rows(replace(TINY, positions="randomised", limit=99)) == 99


def test_an_encoding_of_ones_own_is_found_in_its_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    code = hash_code(f"{file}:Mine")
    mine = find_encoding(replace(TINY, encoding=f"{file}:Mine", code=code))
    assert (type(mine).__name__, mine.heads) == ("Mine", 2)
    assert find_encoding(replace(TINY, encoding=f"{file}:steep", code=code)) == pe.ALiBi(2)
    with pytest.raises(ValueError, match=r"mine.py must define 'Yours', and does not"):
        find_encoding(replace(TINY, encoding=f"{file}:Yours", code=code))
    file.write_text(MINE + "\n")
    assert hash_code(f"{file}:Mine") != code
    with pytest.raises(ValueError, match=r"mine.py has changed since the run was planned"):
        find_encoding(replace(TINY, encoding=f"{file}:Mine", code=code))
    assert hash_code("rope") == hash_code("absent.py:Mine") == ""


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"encoding": "ropp"}, "no encoding is called 'ropp'; did you mean rope?"),
        ({"encoding": "axial-rope"}, "tokens have one whole number as a position, which axial"),
        ({"encoding": "fourier-features"}, "which fourier-features cannot take"),
        ({"encoding": "t5", "causal": False}, "t5 is for decoders, and repeat-copy has an"),
        ({"encoding": "RoPE(4)"}, r"RoPE\(4\) has 4 channels, and the model has 8"),
        ({"encoding": "ALiBi(8)"}, r"ALiBi\(8\) has 8 heads, and the model has 2"),
        ({"positions": "offsets"}, "offsets are for encodings with a table of positions; rope has"),
        ({"encoding": "nope", "extensions": ("yarn",)}, "extensions are scalings of rotations"),
        ({"extensions": ("alibi",)}, "such as yarn; got 'alibi' for RoPE"),
        ({"extensions": ("yarm",)}, "such as yarn; got 'yarm' for RoPE"),
    ],
)
def test_what_cannot_be_used_is_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        find_encoding(replace(TINY, **given))


@pytest.mark.parametrize(
    ("name", "scaling"),
    [
        ("interpolation", pe.Interpolation(4.0)),
        ("ntk", pe.NTK(4.0)),
        ("dynamic-ntk", pe.DynamicNTK(4.0, 64)),
        ("yarn", pe.YaRN(4.0, 64)),
    ],
)
def test_extensions_take_the_trained_length_and_the_factor(name, scaling):
    extended = extend(pe.RoPE(8, base=100.0), name, length=64, factor=4.0)
    assert extended == pe.RoPE(8, base=100.0, scaling=scaling)


def test_positions_follow_an_at():
    assert parse_subject("mine.py:Mine@offsets") == ("mine.py:Mine", "offsets")
    with pytest.raises(ValueError, match="positions must be consecutive, offsets, randomised; got"):
        parse_subject("rope@zigzag")
