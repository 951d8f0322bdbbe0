"""A test draws the same numbers whatever ran before it, alone or among others."""

import importlib.util
import random
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import conftest


def drawn() -> list[int]:
    """What a property is given: 100 examples of whole numbers."""
    examples: list[int] = []

    @settings(print_blob=False)
    @given(st.lists(st.integers()))
    def record(values):
        examples.extend(values)

    record()
    return examples


def test_examples_do_not_depend_on_which_modules_are_loaded(tmp_path, monkeypatch):
    before = drawn()
    path = tmp_path / "numbers_of_ours.py"
    path.write_text(f"NUMBERS = {list(range(10**9, 10**9 + 500))}")
    spec = importlib.util.spec_from_file_location("numbers_of_ours", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "numbers_of_ours", module)
    spec.loader.exec_module(module)
    assert drawn() == before


@pytest.mark.parametrize("turn", [1, 2])
def test_the_global_generators_are_seeded_before_each_test(turn):
    torch = pytest.importorskip("torch")
    found = random.random(), np.random.rand(), torch.rand(()).item()  # noqa: NPY002
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    assert found == (random.random(), np.random.rand(), torch.rand(()).item())  # noqa: NPY002


class Item:
    def __init__(self, path):
        self.path = path


def test_a_shuffled_order_keeps_folders_and_files_together(tmp_path):
    paths = [tmp_path / folder / f"{file}.py" for folder in "abc" for file in "xyz"]
    items = [Item(path) for path in paths for _ in range(4)]
    one, same, other = (conftest.shuffled(items, seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert {*one} == {*items}
    for of in (lambda item: item.path, lambda item: item.path.parent):
        runs = [
            of(a) for a, b in zip(one, [*one[1:], None], strict=True) if not b or of(a) != of(b)
        ]
        assert len(runs) == len({*runs})  # each file, each folder, is one run
    assert [item.path for item in one] != [item.path for item in items]
