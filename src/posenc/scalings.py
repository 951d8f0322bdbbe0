"""Scalings: ways to adapt a rotary encoding trained on short texts to longer ones.

A scaling is a value that computes the frequencies of `RoPE(dim, base=…, scaling=…)`. Two of them,
`DynamicNTK` and `LongRoPE`, depend on the current length of the text: keys rotated for one length
are wrong for another, so the length must be fixed first, with `at(length)`.
"""

import math
from dataclasses import field
from typing import Literal

import numpy as np

from posenc.core import frequencies as f
from posenc.core import rules
from posenc.core.about import About
from posenc.core.scaling import Blend, ByLength, Scaling
from posenc.core.values import value
from posenc.i18n import N_, translatable
from posenc.i18n.arguments import sentences


@value
class Interpolation(Scaling):
    """Position interpolation ("linear" in Hugging Face): every frequency is divided by `factor`.

    factor   new length / original length, at least 1

    >>> Interpolation(4.0).frequencies(4, base=10_000.0)
    array([0.25  , 0.0025])
    """

    factor: float

    about = About(
        title=N_("position interpolation"),
        paper=(
            "Chen et al., Extending Context Window of Large Language Models via Positional "
            "Interpolation, arXiv:2306.15595"
        ),
        year=2023,
        weaknesses=(N_("neighbours are harder to tell apart"), N_("needs some fine-tuning")),
    )

    def __post_init__(self) -> None:
        _factor(self.factor)

    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        return f.interpolate(f.geometric(dim, base=base), factor=self.factor)


@value
class NTK(Scaling):
    """NTK-aware: a larger base, which stretches the slowest wave by `factor`, not the fastest.

    factor   how much longer the slowest wave gets, at least 1
    """

    factor: float

    about = About(
        title=N_("NTK-aware scaling"),
        paper="bloc97, NTK-Aware Scaled RoPE, reddit.com/r/LocalLLaMA",
        year=2023,
        strengths=(N_("fast waves keep telling neighbours apart"),),
    )

    def __post_init__(self) -> None:
        _factor(self.factor)

    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        return f.ntk(dim, base=base, factor=self.factor)


@value
class DynamicNTK(ByLength):
    """NTK whose factor grows with the text: factor * length / original_length - factor + 1.

    factor            growth of the NTK factor per original length, at least 1
    original_length   tokens in training; up to this length `at` returns NTK(1.0)

    >>> DynamicNTK(2.0, 4096).at(8192)
    NTK(3.0)
    """

    factor: float
    original_length: int

    about = About(
        title=N_("dynamic NTK scaling"),
        paper="emozilla, Dynamically Scaled RoPE, reddit.com/r/LocalLLaMA",
        year=2023,
        strengths=(N_("short texts stay as they were"),),
    )

    def __post_init__(self) -> None:
        _factor(self.factor)
        _length(self.original_length)

    def at(self, length: int) -> Scaling:
        ratio = rules.whole("length", length, least=1, most=2**40) / self.original_length
        return NTK(max(1.0, self.factor * ratio - (self.factor - 1)))


@value
class YaRN(Blend):
    """YaRN: slow waves are stretched by `factor`, fast ones kept, and those between are blended.

    Peng et al. (2023), "YaRN: Efficient Context Window Extension of Large Language Models".

    factor             new length / original length, at least 1
    original_length    tokens in training, at least 2
    beta_fast          pairs with more turns than this in the original length are kept
    beta_slow          pairs with fewer turns than this are stretched by the whole factor
    ramp               what the blend is linear in: "dim", the index of the pair, as in all
                       implementations, or "rotations", the number of turns, as in the paper
    truncate           round the ends of the "dim" ramp outwards; False in gpt-oss
    mscale             DeepSeek's coefficient, used only together with `mscale_all_dim`
    mscale_all_dim     DeepSeek's other coefficient, which `softmax_factor` reads too
    attention_factor   factor on cosines and sines; None: 0.1 ln(factor) + 1, or if DeepSeek's two
                       are given (0.1 mscale ln(factor) + 1) / (0.1 mscale_all_dim ln(factor) + 1)

    >>> round(YaRN(16.0, 4096).scale, 6)
    1.277259
    """

    factor: float
    original_length: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    ramp: Literal["dim", "rotations"] = field(default="dim", kw_only=True)
    truncate: bool = field(default=True, kw_only=True)
    mscale: float | None = field(default=None, kw_only=True)
    mscale_all_dim: float | None = field(default=None, kw_only=True)
    attention_factor: float | None = field(default=None, kw_only=True)

    about = About(
        title=N_("YaRN scaling"),
        paper=(
            "Peng et al., YaRN: Efficient Context Window Extension of Large Language "
            "Models, arXiv:2309.00071"
        ),
        year=2023,
        models=("DeepSeek-V3", "gpt-oss"),
        strengths=(N_("fast waves keep telling neighbours apart"),),
        weaknesses=(N_("implementations and paper differ in the ramp"),),
    )

    def __post_init__(self) -> None:
        _factor(self.factor)
        _length(self.original_length)
        rules.check_order(self.beta_slow, self.beta_fast, names=("beta_slow", "beta_fast"))
        rules.one_of("ramp", self.ramp, ("dim", "rotations"))
        rules.flag("truncate", self.truncate)
        _optional("mscale", self.mscale, least=0, most=1e6)
        _optional("mscale_all_dim", self.mscale_all_dim, least=0, most=1e6)
        _optional("attention_factor", self.attention_factor, most=1e6)

    @property
    def scale(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:
            below = yarn_mscale(self.factor, self.mscale_all_dim)
            return yarn_mscale(self.factor, self.mscale) / below
        return yarn_mscale(self.factor, 1.0)

    def keep(self, dim: int, *, base: float) -> np.ndarray:
        if base <= 1:
            raise translatable(
                ValueError,
                "base must be above 1 for YaRN, which needs slow pairs; got base={base}",
                base=base,
            )
        ends = {"slow": self.beta_slow, "fast": self.beta_fast}
        if self.ramp == "rotations":
            return self._keep_by_turns(dim, base, **ends)
        length = self.original_length
        return f.ramp_over_dims(
            dim, base=base, original_length=length, truncate=self.truncate, **ends
        )

    def softmax_factor(self) -> float:
        """DeepSeek's factor on the softmax scale: (0.1 mscale_all_dim ln(factor) + 1)^2, else 1."""
        return yarn_mscale(self.factor, self.mscale_all_dim) ** 2 if self.mscale_all_dim else 1.0


@value
class Llama3(Blend):
    """Llama 3.1: the blend of YaRN with ramp="rotations", without an attention factor.

    factor             how much slow waves are stretched, at least 1
    original_length    tokens in training, at least 2
    low_freq_factor    pairs with fewer turns than this in the original length are stretched fully
    high_freq_factor   pairs with more turns than this are kept

    >>> ratio = Llama3(8.0, 8192).frequencies(128, base=5e5) / f.geometric(128, base=5e5)
    >>> int((ratio == 1).sum()), int((ratio == 1 / 8).sum())
    (29, 29)
    """

    factor: float
    original_length: int
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0

    about = About(
        title=N_("Llama 3 scaling"),
        paper="Llama Team, The Llama 3 Herd of Models, arXiv:2407.21783",
        year=2024,
        models=("Llama 3.1", "Llama 3.2"),
        strengths=(N_("fast waves keep telling neighbours apart"),),
    )

    def __post_init__(self) -> None:
        _factor(self.factor)
        _length(self.original_length)
        names = "low_freq_factor", "high_freq_factor"
        rules.check_order(self.low_freq_factor, self.high_freq_factor, names=names)

    def keep(self, dim: int, *, base: float) -> np.ndarray:
        slow, fast = self.low_freq_factor, self.high_freq_factor
        return self._keep_by_turns(dim, base, slow=slow, fast=fast)


@value
class PerPair(Scaling):
    """Each frequency is divided by a factor of its own: LongRoPE at a fixed length.

    factors            one for each pair, (dim/2,)
    attention_factor   factor on cosines and sines
    """

    factors: tuple[float, ...]
    attention_factor: float = 1.0

    searched = True

    def __post_init__(self) -> None:
        rules.factors("factors", self.factors)
        rules.real("attention_factor", self.attention_factor, least=1e-6, most=1e6)

    @property
    def scale(self) -> float:
        return self.attention_factor

    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        rules.one_each("factors", self.factors, dim)
        return f.geometric(dim, base=base) / np.asarray(self.factors)


@value
class LongRoPE(ByLength):
    """LongRoPE: factors found by search, one set up to the original length and one beyond it.

    Ding et al. (2024), "LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens".

    short_factor       divisors of the frequencies up to the original length, (dim/2,)
    long_factor        divisors beyond it, (dim/2,)
    original_length    tokens in training, at least 2
    factor             new length / original length, from which the attention factor follows as
                       sqrt(1 + ln factor / ln original_length), as in Phi-3 and not in the paper
    attention_factor   factor on cosines and sines; None: from `factor`, or 1 without it

    >>> long = LongRoPE((1.0, 1.0), (1.0, 8.0), 4096, factor=32.0)
    >>> round(long.scale, 6), long.at(4097).frequencies(4, base=10_000.0).tolist()
    (1.190238, [1.0, 0.00125])
    """

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_length: int
    factor: float | None = field(default=None, kw_only=True)
    attention_factor: float | None = field(default=None, kw_only=True)

    searched = True
    about = About(
        title=N_("LongRoPE scaling"),
        paper=(
            "Ding et al., LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens, "
            "arXiv:2402.13753"
        ),
        year=2024,
        models=("Phi-3",),
        weaknesses=(N_("its factors must be searched for each model"),),
    )

    def __post_init__(self) -> None:
        rules.factors("short_factor", self.short_factor)
        rules.factors("long_factor", self.long_factor)
        _length(self.original_length)
        _optional("factor", self.factor)
        _optional("attention_factor", self.attention_factor)
        if len(self.short_factor) != len(self.long_factor):
            raise translatable(
                ValueError,
                "short_factor and long_factor must have one factor for each pair; got {short} and "
                "{long}",
                short=len(self.short_factor),
                long=len(self.long_factor),
            )

    @property
    def scale(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.factor is None or self.factor <= 1:
            return 1.0
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original_length))

    def at(self, length: int) -> Scaling:
        within = rules.whole("length", length, least=1, most=2**40) <= self.original_length
        return PerPair(self.short_factor if within else self.long_factor, self.scale)


@value
class Proportional(Scaling):
    """p-RoPE: only the fastest pairs are rotated; the others stay as they are.

    share    the fraction of pairs that are rotated, 0 .. 1 (0.25 in Gemma 4)
    factor   divides the frequencies of those pairs, at least 1
    """

    share: float
    factor: float = 1.0

    about = About(
        title=N_("proportional RoPE"),
        paper=(
            "Barbero et al., Round and Round We Go! What Makes Rotary Positional Encodings "
            "Useful?, arXiv:2410.06205"
        ),
        year=2024,
        models=("Gemma 4",),
        strengths=(N_("channels that do not turn carry content at any distance"),),
    )

    argument_help = sentences(
        factor=N_("What the frequencies of the pairs that turn are divided by."),
    )

    def __post_init__(self) -> None:
        rules.real("share", self.share, least=0, most=1)
        _factor(self.factor)

    def frequencies(self, dim: int, *, base: float) -> np.ndarray:
        return f.proportional(dim, base=base, share=self.share) / self.factor


def common_scalings(factor: float, original_length: int) -> tuple[Scaling, ...]:
    """The scalings that most models choose from, for texts `factor` times as long as in training.

    >>> common_scalings(4.0, 4096)
    (Interpolation(4.0), NTK(4.0), YaRN(4.0, 4096), Llama3(4.0, 4096))
    """
    by_factor = Interpolation(factor), NTK(factor)
    return *by_factor, YaRN(factor, original_length), Llama3(factor, original_length)


def yarn_mscale(factor: float, mscale: float) -> float:
    """YaRN's factor on cosines and sines: 0.1 mscale ln(factor) + 1, and 1 without stretching."""
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1 else 1.0


def _factor(factor: float) -> None:
    rules.real("factor", factor, least=1, most=1e12)


def _length(length: int) -> None:
    rules.whole("original_length", length, least=2, most=2**40)


def _optional(
    name: str, value: float | None, *, least: float = 1e-6, most: float | None = None
) -> None:
    if value is not None:
        rules.real(name, value, least=least, most=most)
