"""The tutorials' demonstrations, with the tutorials' own numbers."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.explanation import DEMONSTRATIONS
from posenc.i18n import LANGUAGES
from tests.explanation.reading import matrix, waves


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
