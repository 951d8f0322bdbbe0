"""No positional encoding: only the causal mask conveys order."""

from posenc.core.about import About, Traits
from posenc.core.mechanisms import Unbiased
from posenc.core.values import value
from posenc.i18n import N_


@value
class NoPE(Unbiased):
    """No positional encoding, as a bias of 0. Haviv et al. (2022), Kazemnejad et al. (2023).

    >>> import numpy as np
    >>> NoPE().bias(np.arange(2), np.arange(3)).shape
    (1, 2, 3)
    """

    about = About(
        title=N_("no position encoding"),
        summary=N_("no encoding: the causal mask alone gives the order"),
        paper=(
            "Haviv et al., Transformer Language Models without Positional Encodings Still "
            "Learn Positional Information, arXiv:2203.16634"
        ),
        year=2022,
        models=("Llama 4", "SmolLM3", "Command A"),
        weaknesses=(
            N_("works with a causal mask only"),
            N_("models that have it keep RoPE in other layers"),
        ),
    )

    @property
    def traits(self) -> Traits:
        return Traits(any_length=True, relative=True, bounded=True, exact=True, symmetric=True)
