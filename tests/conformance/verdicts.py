"""The models that do not match ours, and why: a fault of theirs, or a convention of theirs."""

VERDICTS = {
    ("hunyuan_vl", "HunYuanVLRotaryEmbedding"): (
        "their fault",
        "not a rotation where axes differ, as on images: each section is doubled instead of the "
        "list of sections, so the two channels of a pair turn by different axes "
        "([measured](#hunyuan-vl-is-not-a-rotation-on-images)); text alone matches",
    ),
    ("lightglue", ""): (
        "their convention",
        "a pair's angle is a learned mixture of x and y (`nn.Linear(2, dim/2)`), where a pair of "
        "ours follows one axis with a fixed frequency; the rotation itself is ours",
    ),
    ("musicflamingo", "MusicFlamingoRotaryEmbedding"): (
        "their convention",
        "a pair's angle is a product of a time and a position, -2π t · 2π s w / L, so it is not "
        "linear in a position; turns features, not q and k; the rotation itself is ours",
    ),
    ("vjepa2", ""): (
        "their fault",
        "not a rotation: cosines and sines are tiled where neighbours are paired, so the two "
        "channels of a pair turn by different angles ([measured](#v-jepa-2-is-not-a-rotation))",
    ),
}
