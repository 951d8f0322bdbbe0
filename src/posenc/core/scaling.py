"""What a scaling is: the frequencies of a rotary encoding, adapted to longer texts."""

from abc import ABC, abstractmethod

import numpy as np

from posenc.core import rules
from posenc.core.about import About
from posenc.core.frequencies import by_parts, geometric, ramp_over_rotations
from posenc.core.values import UNSTATED, value


class Scaling(ABC):
    """Frequencies for a rotary dim and a base, and the factor on cosines and sines."""

    @property
    def scale(self) -> float:
        """Factor on cosines and sines; logits are multiplied by its square."""
        return 1.0

    fits_any_length: bool = True
    """Whether rotated keys stay valid as the text grows."""
    searched: bool = False
    """Whether its factors were found by search, so that they follow no rule from pair to pair."""
    original_length: int | None = UNSTATED
    """The length of text in training, if the scaling has it as an argument."""
    about: About = About()
    """Its paper, the models that use it, and notes that no check can measure."""

    @abstractmethod
    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        """w_i in radians per position: (dim/2,).

        dim    channels that are rotated (`rotary_dim`), even
        base   the base of the encoding, at least 1
        """

    def at(self, length: int) -> "Scaling":
        """This scaling for a text of `length` tokens; itself unless it depends on the length."""
        rules.whole("length", length, least=1, most=2**40)
        return self

    def _repr_html_(self) -> str:
        """What it states about itself, for a notebook."""
        length = self.original_length
        facts = {
            "length of training": "" if length is None else f"{length:,}",
            "factor on cosines and sines": f"{self.scale:.6g}",
            "frequencies": "" if self.fits_any_length else "depend on the length of the text",
        }
        return self.about.to_html(repr(self), facts)


class ByLength(Scaling):
    """Has frequencies only for a length of the text, by `at(length)`."""

    fits_any_length = False

    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        raise rules.unsettled_error(self)


class Blend(Scaling):
    """Slow waves are stretched by `factor`, fast ones kept, and those between are blended."""

    factor: float
    original_length: int

    @abstractmethod
    def keep(self, dim: int, *, base: float) -> np.ndarray:
        """The blend gamma_i of each pair, (dim/2,): 1 keeps w_i, 0 gives w_i / factor.

        dim    channels that are rotated, even
        base   the base of the encoding
        """

    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        w = geometric(dim, base=base)
        return by_parts(w, self.keep(dim, base=base), factor=self.factor)

    def _keep_by_turns(self, dim: int, base: float, *, slow: float, fast: float) -> np.ndarray:
        w = geometric(dim, base=base)
        return ramp_over_rotations(w, original_length=self.original_length, slow=slow, fast=fast)


@value
class Plain(Scaling):
    """No scaling: w_i = base^(-2i/dim)."""

    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        return geometric(dim, base=base)
