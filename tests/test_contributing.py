"""The walk-through of CONTRIBUTING.md, "Add an encoding", followed step by step."""

import doctest
import importlib
import importlib.util
import re
import sys

import numpy as np
import pytest
import torch

import posenc as pe
import posenc.encodings
import tests.oracles
from posenc.explorer import controls
from posenc.explorer import encodings as listed
from posenc.names import expressions, resolve
from posenc.torch import RotateQK, ScoreQK, attend
from posenc.views import kinds_for, view
from tests import bounds
from tests.oracles import scores
from tests.patient import check
from tests.test_project import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = TEXT[TEXT.index("## Add an encoding") : TEXT.index("## Add a kind of view")]
FILES = dict(re.findall(r"`([\w/]+\.py)`:\n\n```python\n(.*?)```", SECTION, flags=re.DOTALL))
TOKENS = re.findall(r"```python\n(.*?)```", SECTION, flags=re.DOTALL)[-1]
ENCODING, ORACLE, TEST = (
    "src/posenc/encodings/learned_rope.py",
    "tests/oracles/learned_rope.py",
    "tests/encodings/test_learned_rope.py",
)
NAME, PLACE = re.search(r'`"([\w-]+)": "(\w+:\w+)",`', SECTION).groups()


KEPT = [  # where an import is remembered
    (sys.modules, "posenc.encodings.learned_rope"),
    (vars(posenc.encodings), "learned_rope"),
    (sys.modules, "tests.oracles.learned_rope"),
    (vars(tests.oracles), "learned_rope"),
    (vars(pe), "LearnedRoPE"),
]


def clear_caches():
    """Forget the list of encodings."""
    for module in (expressions, resolve, listed, controls):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()


@pytest.fixture
def follow(tmp_path, monkeypatch):
    """Takes the steps, with the encoding's `old` text replaced; returns the module of its tests."""

    def steps(old="", new=""):
        assert old in FILES[ENCODING]
        for name, code in FILES.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code.replace(old, new) if name == ENCODING else code, encoding="utf-8")
        for package, place in ((posenc.encodings, ENCODING), (tests.oracles, ORACLE)):
            folder = str((tmp_path / place).parent)
            monkeypatch.setattr(package, "__path__", [folder, *package.__path__])
        monkeypatch.setitem(posenc.encodings.BUILTIN, NAME, PLACE)
        monkeypatch.setitem(pe._HOMES, "LearnedRoPE", "encodings.learned_rope")
        for store, name in KEPT:
            monkeypatch.delitem(store, name, raising=False)
        clear_caches()
        spec = importlib.util.spec_from_file_location("walked", tmp_path / TEST)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield steps
    for store, name in KEPT:
        store.pop(name, None)
    monkeypatch.undo()
    clear_caches()


def test_the_walk_has_an_encoding_an_oracle_and_a_test():
    assert set(FILES) == {ENCODING, ORACLE, TEST}
    assert "posenc" not in FILES[ORACLE]


def test_its_tests_pass_on_every_library(follow, xp):
    module = follow()
    module.test_equals_the_oracle_on_every_library(xp, np.random.default_rng(0))
    module.test_the_oracle_rejects_the_other_pairing(xp, np.random.default_rng(0))


def test_its_gradient_and_its_example_pass(follow, rng):
    follow().test_the_gradient_is_that_of_the_oracle(rng)
    run = doctest.testmod(importlib.import_module("posenc.encodings.learned_rope"))
    assert (run.failed, run.attempted) == (0, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("xp.exp(cast(a, wide))", "(1 + cast(a, wide))"),
        ("geometric(self.dim, base=self.base)", "geometric(self.dim)"),
        ("cast(xp.sin(angles), dtype)", "cast(-xp.sin(angles), dtype)"),
        ("xp.float64 if has_float64(positions) else", "xp.float16 if xp is np else"),
    ],
    ids=["no exponential", "another base", "backwards", "rounded angles"],
)
def test_its_oracle_rejects_mutants(follow, old, new):
    from tests.libraries import libraries

    module = follow(old, new)
    with pytest.raises(AssertionError):
        module.test_equals_the_oracle_on_every_library(libraries()[0], np.random.default_rng(0))


def test_its_gradient_rejects_a_mutant(follow, rng):
    module = follow("xp.exp(cast(a, wide))", "(1 + cast(a, wide))")
    with pytest.raises(AssertionError):
        module.test_the_gradient_is_that_of_the_oracle(rng)


def test_it_is_in_every_tool(follow, rng):
    follow()
    kind = pe.lookup("Learned_RoPE")
    encoding, params = pe.make(NAME, dim=32, heads=4), {"a": rng.normal(size=4).astype("f")}
    assert encoding == kind(8) == resolve.evaluate_encoding("LearnedRoPE(8)")
    assert resolve.canonical_name("learned rope") == NAME
    report = check(kind.example())
    assert report.ok
    assert set(encoding.traits.claims()) <= {r.name for r in report.rows if r.verdict == "holds"}
    assert pe.explain(encoding, position=3)["angles"].table.rows
    assert "attention" in kinds_for(encoding)
    assert {"rotation", "wavelengths"} <= set(kinds_for(encoding))
    for each in kinds_for(encoding):
        assert view(encoding, each, length=4, params=params).panels
    turns = view(encoding, "heatmap", length=4, params=params).panels[0].values
    assert np.allclose(turns[1], 10.0 ** -np.arange(4) * np.exp(params["a"]), atol=1e-6)
    facts = {row["name"]: row for row in listed._builtin()}[NAME]
    assert (facts["acts"], facts["columns"], facts["maker"]) == ("rotary", 32, "LearnedRoPE")


def test_it_attends(follow, rng):
    follow()
    encoding, x = pe.LearnedRoPE(8), rng.normal(size=(2, 5, 8))
    params = {"a": rng.normal(size=4)}
    truth = pe.logits(encoding, x, x, range(5), range(5), params)
    q, tensors = torch.tensor(x)[None], {"a": torch.tensor(params["a"])}
    ours = attend(q, q, q, encoding=encoding, params=tensors)[0]
    assert np.allclose(ours, scores.attention(truth, x), atol=1e-9)
    turned, _ = RotateQK(encoding, params=tensors)(q, q, torch.arange(5))
    assert np.allclose(turned[0].detach(), encoding.rotate(x, range(5), params), atol=1e-6)
    begun = pe.logits(encoding, x, x, range(5), range(5), encoding.init(rng))
    assert np.allclose(begun, pe.logits(pe.RoPE(8), x, x, range(5), range(5)), atol=1e-12)


@pytest.fixture
def forgetting():
    module = {"__name__": __name__}  # a dataclass looks its module up
    exec(TOKENS, module)
    return module["Forgetting"](2, 3)


def test_the_one_of_tokens_fades_by_the_gates_between(forgetting, xp, rng):
    x, features = rng.normal(size=(2, 5, 8)).astype("f"), rng.normal(size=(5, 3)).astype("f")
    gate, p, mask = rng.normal(size=(2, 3)).astype("f"), np.arange(5, dtype=np.int32), np.tri(5) > 0

    def made(x, features, gate, p, mask):
        needed = {"features": features, "mask": mask}
        return pe.logits(forgetting, x, x, p, p, {"gate": gate}, **needed)

    ours = np.asarray(xp.call(made, x, features, gate, p, mask))
    for h, i in np.ndindex(2, 5):
        z = features.astype(float) @ gate[h]
        logs, size = -np.log1p(np.exp(-z)), np.abs(features) @ np.abs(gate[h])
        for j in range(i + 1):
            products, between = x[h, i].astype(float) * x[h, j] / np.sqrt(8), slice(j + 1, i + 1)
            # sums of 8 products and of 4 gates: 3 products each, a sigmoid and a logarithm
            bound = bounds.gamma(20) * (np.abs(products).sum() + (size + 4)[between].sum())
            assert abs(ours[h, i, j] - products.sum() - logs[between].sum()) <= bound


def test_the_one_of_tokens_is_in_every_tool(forgetting, rng):
    report = check(forgetting)
    assert report.ok, str(report)
    assert kinds_for(forgetting) == ["attention"]
    assert view(forgetting, length=4).panels
    assert pe.explain(forgetting, length=4).steps
    q, features = torch.randn(3, 2, 5, 8), torch.randn(3, 5, 3)
    module, seen = ScoreQK(forgetting), torch.ones(5, 5).tril() > 0
    ours = attend(q, q, q, encoding=module, features=features, causal=True)
    logits = module(q, q, torch.arange(5), features=features, mask=seen)
    weights = torch.softmax(logits.masked_fill(~seen, -torch.inf), -1)
    assert (ours - weights @ q).abs().max() <= 1e-5
