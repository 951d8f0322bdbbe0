"""No positional encoding: what a causal mask alone tells about order."""

from dataclasses import dataclass

from posenc.arrays import Array, cast, default_float, namespace
from posenc.mechanisms import Bias, Params, Traits
from posenc.positions import distances


@dataclass(frozen=True)
class NoPE(Bias):
    """Nothing: a bias of 0. Haviv et al. (2022), Kazemnejad et al. (2023).

    >>> import numpy as np
    >>> NoPE().bias(np.arange(2), np.arange(3)).shape
    (1, 2, 3)
    """

    @property
    def traits(self) -> Traits:
        return Traits(extrapolates=True, relative=True, bounded=True, exact=True, symmetric=True)

    def bias(self, q_pos: Array, k_pos: Array, params: Params | None = None) -> Array:
        away = distances(q_pos, k_pos)[..., None, :, :]
        return namespace(away=away).zeros_like(away, dtype=default_float(away))

    def terms(
        self, q_pos: Array, k_pos: Array, params: Params | None = None, *, causal: bool = False
    ) -> tuple[Array, Array]:
        """A sum of no products."""
        left, right = (p[..., None, :, None][..., :0] for p in (q_pos, k_pos))
        return cast(left, default_float(left)), cast(right, default_float(right))
