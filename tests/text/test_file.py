"""Tokens of a tokenizer.json: made here by the library itself, then read as a user's file."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from posenc.text import Token, from_file, from_json, tokenise

ANY = st.text(st.characters(exclude_categories=["Cs"]))


def byte_level(**options):
    """As GPT-2's: trained so that tokens end inside characters."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, **options)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    trainer = trainers.BpeTrainer(
        vocab_size=270,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>", "<é>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["我爱学习 hello world 你好"] * 5, trainer)
    return tokenizer


def llama():
    """A space put in front, ▁ for spaces, bytes as <0xE5> for what is not in the vocabulary."""
    vocabulary = {"<unk>": 0, "<s>": 1, "\u2581": 2, "a": 3, "\u2581a": 4}
    vocabulary |= {f"<0x{byte:02X}>": 5 + byte for byte in range(256)}
    model = models.BPE(vocabulary, [("\u2581", "a")], unk_token="<unk>", byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return tokenizer


def bert():
    """Lower case, no accents, pieces after the first with ##."""
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "caf": 3, "##e": 4, "学": 5}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


MADE = {kind.__name__: from_json(kind().to_str()) for kind in (byte_level, llama, bert)}


def labels(sentence, name):
    return [token.label for token in tokenise(sentence, by=MADE[name])]


def test_byte_level_tokens_are_shown_without_its_letters():
    assert labels("a 学习 hello<|end|>é", "byte_level") == [
        *["a", "␣", "学 1/4 E5", "学 2/4 AD", "学习 3/4 A6 E4", "习 4/4 B9 A0"],
        *["␣", "hel", "lo", "<|end|>", "é 1/2 C3", "é 2/2 A9"],
    ]
    added = tokenise("a <é>", by=MADE["byte_level"])  # that one is written in its own letters
    assert [token.data for token in added] == [b"a", b" ", "<é>".encode()]


@given(ANY)
def test_byte_level_loses_nothing(text):
    found = tokenise(text, by=MADE["byte_level"])
    assert b"".join(token.data for token in found) == text.encode()
    assert [token.text for token in found] == [text[token.start : token.end] for token in found]


def test_what_a_tokenizer_puts_around_the_sentence_covers_nothing():
    assert tokenise("Café 学", by=MADE["bert"]) == (
        Token("[CLS]", 0, 0, b""),
        Token("Caf", 0, 3, b"Caf"),
        Token("é", 3, 4, "é".encode()),
        Token("学", 5, 6, "学".encode()),
        Token("[SEP]", 6, 6, b""),
    )


def test_bytes_that_stand_in_for_a_character():
    assert labels("a 学", "llama") == ["<s>", "a", "␣", "学 1/3 E5", "学 2/3 AD", "学 3/3 A6"]
    assert tokenise("学", by=MADE["llama"])[1] == Token(" ", 0, 0, b"")


def test_one_character_that_becomes_two():
    made = byte_level()
    made.normalizer = normalizers.NFKC()
    found = tokenise("ﬁ 学", by=from_json(made.to_str()))
    assert [token.label for token in found] == [
        *["ﬁ 1/2 66", "ﬁ 2/2 69", "␣", "学 1/3 E5", "学 2/3 AD", "学 3/3 A6"],
    ]


@pytest.mark.parametrize("name", MADE)
@given(text=ANY)
def test_tokens_lie_in_order_and_can_be_read(name, text):
    found = tokenise(text, by=MADE[name])
    ends = [(token.start, token.end) for token in found]
    assert [start for start, _ in ends] == sorted(start for start, _ in ends)
    assert [end for _, end in ends] == sorted(end for _, end in ends)
    assert all(0 <= start <= end <= len(text) for start, end in ends)
    assert not any("\ufffd" in token.label for token in found)
    assert all("Ġ" not in token.label for token in found if "Ġ" not in text)


def test_nothing_is_cut_short_or_filled_up():
    made = bert()
    made.enable_truncation(3)
    made.enable_padding(length=10)
    assert len(tokenise("学 " * 20, by=from_json(made.to_str()))) == 22


def test_a_file(tmp_path):
    path = tmp_path / "tokenizer.json"
    bert().save(str(path))
    assert [token.text for token in tokenise("caf", by=from_file(path))][1:-1] == ["caf"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{", "tokenizer must be JSON; .*tokenizer.json: Expecting property name"),
        (b"\xff", "tokenizer must be JSON; .*tokenizer.json: 'utf-8' codec can't decode"),
        (b"[" * 100_000, "tokenizer must be JSON; .*: maximum recursion depth exceeded"),
        (b"[]", "tokenizer must be a Hugging Face tokenizer.json; .*: invalid type: sequence"),
        (b'{"model": 3}', "tokenizer must be a Hugging Face tokenizer.json; .*: data did not"),
        (None, "tokenizer must be a readable file; .*json: No such file or directory"),
    ],
)
def test_a_broken_file_is_a_sentence(tmp_path, data, sentence):
    path = tmp_path / "tokenizer.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ValueError, match=sentence):
        from_file(path)


def test_a_tokenizer_that_fails_later_is_a_sentence():
    parts = json.loads(bert().to_str())
    del parts["model"]["vocab"]["[UNK]"]
    broken = from_json(json.dumps(parts))
    with pytest.raises(ValueError, match="sentence must be text that this tokenizer accepts: "):
        tokenise("x", by=broken)


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModuleNotFoundError, match="pip install tokenizers"):
        from_json("{}")
