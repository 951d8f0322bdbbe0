"""Each task's answer, found again from its prompt in another way."""

import numpy as np
import pytest

from posenc.lab.tasks import (
    CHARACTERS,
    TASKS,
    Task,
    digest_text,
    find_task,
    guess_loss,
    read_text,
)

SYMBOLS = 40


def number(digits):
    return int("".join(map(str, digits)))


def answer_addition(prompt):
    plus = prompt.index(10)
    total = number(prompt[:plus]) + number(prompt[plus + 1 :])
    return [int(c) for c in str(total).zfill(plus + 1)]


def answer_reversed_addition(prompt):
    plus = prompt.index(10)
    total = number(prompt[:plus][::-1]) + number(prompt[plus + 1 :][::-1])
    return [int(c) for c in str(total).zfill(plus + 1)[::-1]]


def answer_flip_flop(prompt):
    pairs = [*zip(prompt[:-1:2], prompt[1::2], strict=True)]
    assert prompt[-1] == 4
    assert pairs[0][0] == 2
    return [[bit for what, bit in pairs if what == 2][-1]]


def answer_counting(prompt):
    *text, mark, asked = prompt
    assert mark == 16 + 10
    return [16 + text.count(asked)]


def answer_recall(prompt):
    *pairs, mark, asked = prompt
    assert mark == SYMBOLS + 10
    return [dict(zip(pairs[::2], pairs[1::2], strict=True))[asked]]


def answer_indexing(prompt):
    *text, mark, asked, shift = prompt
    assert mark == SYMBOLS
    return [text[text.index(asked) + shift - (SYMBOLS + 1 + 8)]]


def answer_passkey(prompt):
    return prompt[prompt.index(26) + 1 : prompt.index(27)]


ANSWERS = {
    "unique-copy": list,
    "repeat-copy": list,
    "reverse": lambda prompt: [*reversed(prompt)],
    "sort": lambda prompt: [each for each in range(SYMBOLS) if each in prompt],
    "addition": answer_addition,
    "reversed-addition": answer_reversed_addition,
    "parity": lambda prompt: [prompt.count(1) & 1],
    "majority": lambda prompt: [int(np.median(prompt))],
    "flip-flop": answer_flip_flop,
    "counting": answer_counting,
    "recall": answer_recall,
    "indexing": answer_indexing,
    "right-neighbour": lambda prompt: [prompt[prompt.index(prompt[-1]) + 1]],
    "left-neighbour": lambda prompt: [prompt[prompt.index(prompt[-1]) - 1]],
    "passkey": answer_passkey,
}
QUESTIONS = {name: task for name, task in TASKS.items() if isinstance(task, Task)}


def test_every_task_has_an_answer_here():
    assert ANSWERS.keys() == QUESTIONS.keys()


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_follows_from_the_prompt(name, rng):
    task = QUESTIONS[name]
    symbols = task.symbols or SYMBOLS
    lengths = {*range(task.least, 12), 39}
    for length in lengths:
        sizes = set()
        for _ in range(20):
            prompt, answer = task.draw(rng, length, symbols)
            assert answer == ANSWERS[name](prompt)
            assert all(0 <= each < symbols + task.extra for each in [*prompt, *answer])
            sizes.add((len(prompt), len(answer)))
        assert len(sizes) == 1, "all examples of a length have as many tokens"


@pytest.mark.parametrize("name", [n for n, task in QUESTIONS.items() if task.distinct])
def test_symbols_that_must_differ_do(name, rng):
    for _ in range(20):
        prompt, _ = QUESTIONS[name].draw(rng, 12, 12)
        text = prompt[:12] if name != "recall" else prompt[:24:2]
        assert sorted(text) == [*range(12)]


@pytest.mark.parametrize("name", ["parity", "majority", "flip-flop", "counting", "indexing"])
def test_no_answer_is_much_more_frequent(name, rng):
    """A model that always says the same must not look trained."""
    task = QUESTIONS[name]
    drawn = [task.draw(rng, 20, task.symbols or SYMBOLS)[1][0] for _ in range(400)]
    assert max(np.bincount(drawn)) < 0.6 * len(drawn)


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match="no task is called 'dance'; `posenc lab list`"):
        find_task("dance")


def test_the_text_has_two_parts_that_do_not_overlap():
    train, test = read_text("train"), read_text("test")
    assert abs(len(train) - 9 * len(test)) <= 9
    assert train.max() < len(CHARACTERS)
    words = "".join(CHARACTERS[each] for each in test)
    assert "Python" in words or "python" in words
    assert len(digest_text()) == 12


def test_guessing_by_frequency_is_the_entropy():
    """Nearly that of the text itself, whose parts are alike."""
    p = np.bincount(read_text("test")) / len(read_text("test"))
    entropy = -sum(each * np.log(each) for each in p if each)
    assert entropy <= guess_loss() < entropy + 0.2
