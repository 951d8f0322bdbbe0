"""The built-in encodings: the one list of them, in the order of the README's table.

`posenc.__all__`, the lazy imports, `posenc.catalogue()`, `posenc list` and the explorer's buttons
are derived from it; `tests/test_project.py` says what else a new line needs.
"""

BUILTIN = {
    "sinusoidal": "sinusoidal:Sinusoidal",
    "learned": "learned:Learned",
    "axial-sinusoidal": "sinusoidal:AxialSinusoidal",
    "fourier-features": "fourier:FourierFeatures",
    "learned-fourier": "fourier:LearnedFourier",
    "rope": "rope:RoPE",
    "axial-rope": "axial:AxialRoPE",
    "xpos": "rope:XPos",
    "alibi": "alibi:ALiBi",
    "two-sided-alibi": "alibi:TwoSidedALiBi",
    "t5": "t5:T5Bias",
    "clipped": "tables:ClippedBias",
    "kerple": "kernels:KERPLE",
    "fire": "fire:FIRE",
    "sandwich": "kernels:Sandwich",
    "swin": "swin:SwinBias",
    "swin-v2": "swin:SwinV2Bias",
    "shaw": "shaw:Shaw",
    "transformer-xl": "transformer_xl:TransformerXL",
    "nope": "nope:NoPE",
}
"""The module in this package and the class of each, by name."""
