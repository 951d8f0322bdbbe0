"""Tokens by a tokenizer.json of the reader's own, which comes from the command line."""

from contextlib import closing

from posenc.text import Token
from tests.explorer.asking import Client


def halves(sentence):
    """A tokenizer that cuts a sentence in two."""
    middle = len(sentence) // 2
    for start, end in ((0, middle), (middle, len(sentence))):
        text = sentence[start:end]
        yield Token(text, start, end, text.encode())


def test_ones_own_tokenizer_is_offered_and_used():
    with closing(Client(tokenizer=halves)) as client:
        assert client.get("/api/v1/encodings").json["limits"]["tokenizer"] is True
        told = client.get("/api/v1/tokens", text="abcd", by="tokenizer").json["tokens"]
        assert [token["text"] for token in told] == ["ab", "cd"]
        made = client.get("/api/v1/view/heatmap", text="abcd", by="tokenizer").json
        assert made["panels"][0]["rows"]["labels"] == ["ab", "cd"]


def test_without_one_a_sentence_says_how_to_have_it():
    with closing(Client()) as client:
        assert client.get("/api/v1/encodings").json["limits"]["tokenizer"] is False
        refused = client.get("/api/v1/tokens", text="abcd", by="tokenizer")
        assert refused.status == 400
        assert "posenc explore --tokenizer FILE has one" in refused.message
