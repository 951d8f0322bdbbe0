"""What each argument of an encoding, a scaling or a temperature does, a sentence each.

A name that means one thing wherever it occurs has its sentence here. A class that means something
of its own by a name says so in its attribute `argument_help`, for its presets too.
"""

from collections.abc import Mapping
from types import MappingProxyType

from posenc.i18n import N_

HEAD_DIM = N_("How many dimensions the queries and keys of a head have.")

SHARED = {
    "attention_factor": N_("Multiplies the cosines and sines, so that logits grow by its square."),
    "axes": N_("How many coordinates a position has: 2 for the row and column of an image."),
    "base": N_("Sets the range of wavelengths: a larger base makes the slow waves longer."),
    "beta": N_("How fast the factor grows with the position."),
    "beta_fast": N_(
        "Pairs that turn more often than this within the trained length keep their frequency."
    ),
    "beta_slow": N_(
        "Pairs that turn less often than this within the trained length are stretched in full."
    ),
    "dim": N_("How many dimensions an embedding has."),
    "encoding": N_("The encoding whose logits are multiplied."),
    "factor": N_("How many times the trained length is to be covered."),
    "factors": N_("What the frequency of each pair is divided by."),
    "floor_scale": N_("After every so many positions the factor grows by a step."),
    "heads": N_("How many attention heads there are."),
    "hidden": N_("How many hidden units the small network has."),
    "high_freq_factor": N_(
        "Pairs that turn more often than this within the trained length keep their frequency."
    ),
    "interleaved": N_(
        "Whether the axes take turns, pair by pair; otherwise each has a block of pairs."
    ),
    "layout": N_(
        "Whether sines and cosines alternate (interleaved) or all sines come first (concat)."
    ),
    "long_factor": N_(
        "What the frequency of each pair is divided by in texts beyond the trained length."
    ),
    "low_freq_factor": N_(
        "Pairs that turn less often than this within the trained length are stretched in full."
    ),
    "mscale": N_(
        "For the numerator of DeepSeek's attention factor; used together with mscale_all_dim."
    ),
    "mscale_all_dim": N_(
        "For the denominator of DeepSeek's attention factor; used together with mscale."
    ),
    "order": N_("Which axis each block of channels follows, in turn."),
    "original_length": N_("How long the texts of training were, in tokens."),
    "pairing": N_(
        "Which channels turn together: neighbours (interleaved) or one of each half (halves)."
    ),
    "ramp": N_(
        "Whether pairs are blended by their index (dim) or by their number of turns (rotations)."
    ),
    "reach": N_("The farthest distance told apart: all beyond count as this one."),
    "rotary_dim": N_("How many channels turn; all of them unless given."),
    "rotated": N_(
        "Which channels turn if only some do: the first (leading) or the last (trailing)."
    ),
    "s": N_("Multiplies the logarithm of the number of keys that the query sees."),
    "scale": N_("How fast the factor grows with the position."),
    "scaling": N_("How frequencies change for texts longer than those of training."),
    "sections": N_("How many pairs follow time, height and width."),
    "shares": N_("How many pairs each axis has; equally many unless given."),
    "share": N_("The part of the pairs that turns, the fastest first; the others stand still."),
    "short_factor": N_(
        "What the frequency of each pair is divided by in texts up to the trained length."
    ),
    "std": N_("The standard deviation of what is learned, as it is drawn before training."),
    "temperature": N_("What the logits of each query are multiplied by, given its position."),
    "truncate": N_("Whether the ends of the blended range are rounded outwards to whole pairs."),
    "window": N_("The height and width of the window in which tokens attend to each other."),
}


def sentences(**by_name: str) -> Mapping[str, str]:
    """The attribute `argument_help` of a class: what its arguments do, by name."""
    return MappingProxyType(by_name)


def argument_help(kind: type, name: str) -> str:
    """What the argument `name` of a class, or of its presets, does: English, to be translated.

    Empty where nothing is known, as of a class of someone else.

    >>> from posenc import FIRE, Learned
    >>> argument_help(Learned, "length")
    'The number of rows in the table, one for each position.'
    >>> argument_help(FIRE, "heads")
    'How many attention heads there are.'
    """
    for each in kind.__mro__:
        own = vars(each).get("argument_help", {})
        if name in own:
            return own[name]
    return SHARED.get(name, "")
