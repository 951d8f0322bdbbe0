"""Where each view is seen: the encodings whose tabs have it, and the views of each."""

LANGUAGES = ("en", "ja", "zh-Hans", "zh-Hant")

SINUSOIDAL = ("heatmap", "waves", "wavelengths", "similarity", "products", "sum", "attention")
TOUR_OF_VIEWS = {
    "Sinusoidal": SINUSOIDAL,
    "Learned": ("learned",),
    "AxialSinusoidal": ("maps",),
    "RoPE": ("heatmap", "rotation", "decay", "scalings"),
    "ALiBi": ("bias",),
    "Shaw": ("attention",),
}
"""Titles in the list of encodings, and the views to look at there: all, none for nothing."""

EXPRESSIONS = {
    "Sinusoidal": "Sinusoidal(64)",
    "Learned": "Learned(512,64)",
    "AxialSinusoidal": "AxialSinusoidal(64)",
    "RoPE": "RoPE(64)",
    "ALiBi": "ALiBi(8)",
    "Shaw": "Shaw(64,16)",
}
