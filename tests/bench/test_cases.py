"""The list of benchmarks, and choosing from it."""

import pytest

from posenc.bench import cases


def test_every_name_is_there_once():
    names = [case.name for case in cases.CASES]
    assert len(set(names)) == len(names)


def test_a_word_chooses_by_name_or_by_group():
    (first, *_), everything = cases.CASES, list(cases.CASES)
    assert cases.choose() == everything
    assert first in cases.choose([first.name])
    of_group = [
        case for case in everything if first.group.lower() in f"{case.name} {case.group}".lower()
    ]
    assert cases.choose([first.group.upper()]) == of_group != everything
    assert cases.choose([first.name, first.name]) == cases.choose([first.name])


def test_quick_ones_are_among_those_chosen():
    quick = cases.choose(quick=True)
    assert quick
    assert all(case.quick for case in quick)
    assert set(quick) < set(cases.CASES)


@pytest.mark.parametrize("word", ["startupp", "nothing like it"])
def test_a_word_that_chooses_nothing_is_a_sentence(word):
    with pytest.raises(ValueError, match=f"no benchmark is called '{word}'; "):
        cases.choose(["decode", word])
