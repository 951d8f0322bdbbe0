"""Where each encoding comes from."""

import re

import pytest

import posenc as pe
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
