"""The benchmark of rotations."""

from posenc.bench import rotations


def test_rotations_are_measured_beside_a_copy():
    rows = rotations.measure(rounds=1, shape=(1, 2, 16, 8))["rows"]
    assert list(rows) == ["clone", "rotate, interleaved", "rotate, halves"]
    assert 0 < rows["rotate, halves"]["error"] < 2e-6
