"""The benchmark of attention with a bias."""

from posenc.bench import attentions


def test_attention_is_measured_beside_none_and_beside_a_dense_bias():
    rows = attentions.measure(rounds=1, shape=(1, 2, 300, 16))["rows"]
    assert next(iter(rows)) == "no bias, is_causal"
    assert {"ALiBi, attend, auto", "ALiBi, attend, folded", "T5, attend, auto"} < set(rows)
    assert all(0 < row["error"] < 1e-5 for row in rows.values())
