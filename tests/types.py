"""What a type checker must say of posenc: `tests/test_types.py` runs pyright on this file.

The comment at the end of a line is the type, or the rule that rejects the line.
"""

from typing import reveal_type

import numpy as np
import torch

import posenc as pe
from posenc.torch import AddPositions, BiasLogits, RotateQK, ScoreQK, attend

x, t = np.zeros((2, 8), np.float32), torch.zeros(2, 8)
p = np.arange(2)
where = torch.arange(2)
shaw = pe.Shaw(8, 4)
rng = np.random.default_rng(0)

reveal_type(pe.RoPE(8).rotate(x, [0, 1]))  # ndarray
reveal_type(pe.RoPE(8).rotate(t, where))  # Tensor
reveal_type(pe.XPos(8).rotate_keys(torch.nn.Parameter(t), range(2)))  # Tensor
reveal_type(pe.RoPE(8).cos_sin(where)[0])  # Tensor
reveal_type(pe.Sinusoidal(8).encode([0, 1]))  # ndarray
reveal_type(pe.Sinusoidal(8).encode(p).tolist())  # Any
reveal_type(pe.Sinusoidal(8).encode(where))  # Tensor
reveal_type(pe.Learned(4, 8).encode([0, 1], {"table": t}))  # Tensor
reveal_type(pe.AxialSinusoidal(8).add(t, [[0, 0], [0, 1]]))  # Tensor
reveal_type(pe.ALiBi(8).bias(p, p))  # ndarray
reveal_type(pe.T5Bias(8).bias(where, where))  # Tensor
reveal_type(pe.T5Bias(8).init(rng)["table"])  # ndarray
reveal_type(pe.T5Bias(8).init(rng, like=t)["table"])  # Tensor
reveal_type(shaw.scores(t, t, where, where))  # Tensor
reveal_type(pe.logits(pe.RoPE(8), x, x, [0, 1], [0, 1]))  # ndarray
reveal_type(pe.logits(pe.RoPE(8), t, t, where, where))  # Tensor
reveal_type(pe.Llama4Temperature().factors(where))  # Tensor
reveal_type(pe.distances([0, 1], where))  # Tensor
reveal_type(pe.consecutive(4))  # ndarray
reveal_type(pe.packed([1, 2], like=t))  # Tensor
reveal_type(pe.documents([1, 2]))  # ndarray
reveal_type(pe.left_padded(where))  # Tensor
reveal_type(pe.grid(2, 3, like=t))  # Tensor
reveal_type(pe.mrope_positions([1, (1, 2, 2)]))  # ndarray

reveal_type(AddPositions(pe.Sinusoidal(8))(t, where))  # Tensor
reveal_type(RotateQK(pe.RoPE(8))(t, t, where)[1])  # Tensor
reveal_type(BiasLogits(pe.ALiBi(8))(t, where))  # Tensor
reveal_type(ScoreQK(shaw)(t, t, where))  # Tensor
reveal_type(attend(t, t, t, encoding=pe.ALiBi(8)))  # Tensor

pe.RoPE(8).rotate([0.0], [1])  # reportArgumentType
pe.RoPE(8).rotate(t, "first")  # reportArgumentType
pe.RoPE(8).rotate(t, p)  # reportArgumentType
pe.RoPE(8, pairing="thirds")  # reportArgumentType
pe.packed([1.5])  # reportArgumentType
AddPositions(pe.RoPE(8))  # reportArgumentType
AddPositions(pe.Sinusoidal(8))(t, speed=2)  # reportCallIssue
attend(t, t, t, encoding=pe.Sinusoidal(8))  # reportArgumentType
pe.show(pe.RoPE(8), "rotations")  # reportArgumentType
pe.show("rope", lang="xx")  # reportArgumentType
pe.explain("rope", lang="xx")  # reportArgumentType
pe.compare("rope", "alibi", lang="xx")  # reportArgumentType
