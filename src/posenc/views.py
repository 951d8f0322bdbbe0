"""What is drawn: frozen data that an encoding makes and figures render."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.mechanisms import Additive, Params
from posenc.positions import consecutive


@dataclass(frozen=True)
class Heatmap:
    """The encoding of each token of a sentence: values (seq, dim), a row for each token."""

    title: str
    tokens: tuple[str, ...]
    values: np.ndarray

    def to_json(self) -> dict[str, Any]:
        """The view as plain data."""
        return {"title": self.title, "tokens": list(self.tokens), "values": self.values.tolist()}


def heatmap(encoding: Additive, tokens: list[str], params: Params | None = None) -> Heatmap:
    """The heatmap of `encoding` for tokens at the positions 0, 1, ….

    >>> from posenc import Sinusoidal
    >>> heatmap(Sinusoidal(4), ["我", "爱"]).values.round(2).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0]]
    """
    if not tokens:
        raise ValueError("tokens must not be empty; got tokens=[]")
    values = encoding.encode(consecutive(len(tokens)), params)
    return Heatmap(title=str(encoding), tokens=tuple(tokens), values=np.asarray(values))
