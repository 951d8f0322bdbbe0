"""The two conventions that no encoding of ours is made for: our rotation at their angles."""

import numpy as np
import torch
from transformers.models.lightglue import modeling_lightglue as lightglue
from transformers.models.lightglue.configuration_lightglue import LightGlueConfig
from transformers.models.musicflamingo import modeling_musicflamingo as flamingo
from transformers.models.musicflamingo.configuration_musicflamingo import MusicFlamingoConfig

from posenc.core.frequencies import geometric
from posenc.core.rotation import rotate
from tests.conformance import readings
from tests.conformance.theirs import Wide


def lightglue_gap() -> float:
    """Largest difference of rotated q and k, at angles that a learned matrix makes of x and y."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(1, 9, 2))
    with Wide(), torch.no_grad():
        torch.manual_seed(0)
        encoder = lightglue.LightGluePositionalEncoder(LightGlueConfig())
        weight = encoder.projector.weight.numpy()
        q, k = rng.normal(size=(2, 1, 2, 9, 2 * len(weight)))
        tables = encoder(torch.from_numpy(points))[0]
        theirs = lightglue.apply_rotary_pos_emb(torch.from_numpy(q), torch.from_numpy(k), *tables)
    angles = points[:, None] @ weight.T
    ours = [rotate(x, np.cos(angles), np.sin(angles)) for x in (q, k)]
    return max(float(np.abs(a.numpy() - b).max()) for a, b in zip(theirs, ours, strict=True))


def musicflamingo_gap() -> float:
    """Largest difference of rotated features, at angles that are products of two times."""
    config = MusicFlamingoConfig()
    seconds, length = np.array([[30.0, 31.0, 32.5, 33.0]]), 4
    with Wide(), torch.no_grad():
        module = flamingo.MusicFlamingoRotaryEmbedding(config)
        tables = module(torch.from_numpy(seconds), length)
        x = np.random.default_rng(0).normal(size=(1, length, 2 * tables[0].shape[-1]))
        theirs = flamingo.apply_rotary_time_emb(torch.from_numpy(x), *tables).numpy()
    most = config.max_position_embeddings
    dim = int(readings.head_dim(config) * config.rope_parameters.get("partial_rotary_factor", 1.0))
    w = geometric(dim, base=readings.base_of(config))
    window = np.round(seconds[:, 0] / (config.audio_frame_step * 4 * length)) / most
    within = np.arange(length) / most * 2 * np.pi
    both = [
        np.broadcast_to(window[:, None, None] * w, (1, length, len(w))),
        within[None, :, None] * w,
    ]
    angles = np.concatenate(both, -1) * (-2 * np.pi * seconds)[..., None]
    ours = rotate(x, np.cos(angles), np.sin(angles), rotated="leading")
    return float(np.abs(theirs - ours).max())
