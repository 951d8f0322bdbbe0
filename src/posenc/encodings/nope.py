"""No positional encoding: only the causal mask conveys order."""

from posenc.core.about import About, Traits
from posenc.core.arrays import Array, cast, default_float, namespace
from posenc.core.mechanisms import Bias, Params
from posenc.core.positions import as_arrays, distances
from posenc.core.values import value
from posenc.i18n import later


@value
class NoPE(Bias):
    """No positional encoding, as a bias of 0. Haviv et al. (2022), Kazemnejad et al. (2023).

    >>> import numpy as np
    >>> NoPE().bias(np.arange(2), np.arange(3)).shape
    (1, 2, 3)
    """

    about = About(
        title=later("no position encoding"),
        paper=(
            "Haviv et al., Transformer Language Models without Positional Encodings Still "
            "Learn Positional Information, arXiv:2203.16634"
        ),
        year=2022,
        models=("Llama 4", "SmolLM3", "Command A"),
        weaknesses=(
            later("works with a causal mask only"),
            later("models that have it keep RoPE in other layers"),
        ),
    )

    @property
    def traits(self) -> Traits:
        return Traits(any_length=True, relative=True, bounded=True, exact=True, symmetric=True)

    def bias(self, q_pos: Array, k_pos: Array, params: Params | None = None) -> Array:
        self.read_params(params)
        away = distances(q_pos, k_pos)[..., None, :, :]
        return namespace(away=away).zeros_like(away, dtype=default_float(away))

    def terms(
        self, q_pos: Array, k_pos: Array, params: Params | None = None, *, causal: bool = False
    ) -> tuple[Array, Array]:
        """An empty sum: arrays with no terms."""
        self.read_params(params)
        left, right = (p[..., None, :, None][..., :0] for p in as_arrays(q_pos, k_pos))
        return cast(left, default_float(left)), cast(right, default_float(right))
