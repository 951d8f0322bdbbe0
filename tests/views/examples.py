"""Encodings that tests of every kind of view take."""

import posenc as pe
from posenc.views import kinds_for
from posenc.views.kinds import first_encoding_for


def example_for(kind, **chosen):
    """The one `chosen` for a kind; else RoPE if the kind suits it, or the first that it suits."""
    other = "rope" if kind in kinds_for(pe.RoPE(64)) else first_encoding_for(kind)
    return chosen.get(kind, other)
