"""Where each encoding comes from."""

import re
from dataclasses import dataclass
from html import escape

import numpy as np
import pytest

import posenc as pe
from posenc.core.encoding import MECHANISMS
from posenc.encodings.registry import load_builtins
from posenc.names.resolve import VARIANTS, resolve


@pytest.mark.parametrize("kind", [*load_builtins().values()])
def test_every_built_in_says_where_it_comes_from(kind):
    about = kind.about
    names = load_builtins()
    assert 2017 <= about.year <= 2026
    assert re.search(r"arXiv:\d{4}\.\d{5}|github\.com", about.paper)
    assert not about.axial or names[about.axial].example().axes > 1
    assert len(set(about.models)) == len(about.models)


@pytest.mark.parametrize("kind", [*load_builtins().values()])
def test_the_year_is_that_of_the_paper_and_the_docstring(kind):
    found = re.search(r"arXiv:(\d\d)", kind.about.paper)
    assert found is None or int(found[1]) + 2000 == kind.about.year
    author = kind.about.paper.split(" et al.")[0].split(",")[0]
    cited = re.findall(rf"{author} et al\. \((\d{{4}})\)", kind.__doc__)
    assert all(int(year) == kind.about.year for year in cited)


def test_a_scaling_speaks_for_the_whole():
    yarn = pe.RoPE(64, scaling=pe.YaRN(4.0, 8192))
    assert yarn.about == pe.YaRN.about != pe.RoPE.about
    assert pe.RoPE(64).about == pe.RoPE.about
    assert yarn == pe.RoPE(64, scaling=pe.YaRN(4.0, 8192))
    for name in VARIANTS:
        assert resolve(name)[name].about.year


@pytest.mark.parametrize("kind", [*load_builtins().values()])
def test_an_encoding_in_a_notebook_states_what_the_contract_knows(kind):
    encoding = kind.example()
    shown = encoding._repr_html_()
    assert shown.startswith(f"<p><code>{escape(repr(encoding))}</code>: {kind.about.title}</p>")
    assert f"<td>{encoding.mechanism}: {MECHANISMS[encoding.mechanism]}</td>" in shown
    assert escape(kind.about.paper) in shown
    for name, parameter in encoding.parameters().items():
        assert f"{name} {parameter.shape}" in shown
    for claim in encoding.traits.claims():
        assert claim.replace("_", " ") in shown
    assert encoding.dim is None or f"dim={encoding.dim}" in shown
    assert "None" not in shown


def test_an_encoding_of_ones_own_in_a_notebook_is_escaped():
    @dataclass(frozen=True)
    class Own(pe.Bias):
        label: str

        def bias(self, q_pos, k_pos, params=None):
            return 0.0 * pe.distances(q_pos, k_pos)[None]

        def init(self, rng, *, like=None):
            return {"<script>": np.zeros(2, np.float32)}

    shown = Own("<b>")._repr_html_()
    assert "<b>" not in shown
    assert "<script>" not in shown
    assert "label=&#x27;&lt;b&gt;&#x27;)</code></p><table>" in shown
    assert "<td>parameters</td><td>&lt;script&gt; (2,)</td>" in shown


def test_a_scaling_in_a_notebook():
    shown = pe.DynamicNTK(2.0, 4096)._repr_html_()
    assert shown.startswith("<p><code>DynamicNTK(2.0, 4096)</code>: ")
    assert "<td>4,096</td>" in shown
    assert "depend on the length of the text" in shown
    yarn = pe.YaRN(4.0, 4096)
    assert f"<td>{yarn.scale:.6g}</td>" in yarn._repr_html_()
    assert "arXiv:2309.00071" in yarn._repr_html_()
    assert "depend on" not in yarn._repr_html_()
