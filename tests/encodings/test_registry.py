from importlib import metadata

import numpy as np
import pytest

import posenc as pe
from posenc.encodings.registry import load_builtins


class Turn(pe.Rotary):
    def cos_sin(self, positions, params=None, *, dtype=None):
        return np.cos(positions[..., None]), np.sin(positions[..., None])


not_an_encoding = len


def test_names_come_from_the_tuple_and_from_entry_points(monkeypatch):
    assert list(pe.catalogue()) == [*load_builtins()]
    entry = metadata.EntryPoint("turn", f"{__name__}:Turn", "posenc.encodings")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    assert pe.catalogue()["turn"] is Turn


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sinusoidal", "Turn", "encoding names must differ; .*:Turn takes 'sinusoidal' again"),
        (
            "turn",
            "not_an_encoding",
            "entry point 'turn' must name an Encoding; got .*:not_an_encoding",
        ),
    ],
)
def test_bad_entry_points_are_named(monkeypatch, name, value, message):
    entry = metadata.EntryPoint(name, f"{__name__}:{value}", "posenc.encodings")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    with pytest.raises((ValueError, TypeError), match=message):
        pe.catalogue()
