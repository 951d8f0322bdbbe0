"""What is checked, and what must be found: nothing, or a fault with its reproduction."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from posenc import peers
from posenc.checks import Report
from posenc.core.encoding import Encoding
from tests.patient import check
from tests.peers import timm_without_torchvision


@dataclass(frozen=True)
class Fault:
    """A finding: its heading, why it matters, five lines that show it without posenc."""

    title: str
    why: str
    code: str


@dataclass(frozen=True)
class Case:
    """A peer's encoding, the package it is from, and the claims that must fail."""

    package: str
    what: str
    make: Callable[[], Encoding]
    failed: tuple[str, ...] = ()
    fault: Fault | None = None

    @property
    def name(self) -> str:
        return f"{self.package}: {self.what}"


@cache
def report(case: Case) -> Report:
    """The doctor's, once for each run."""
    timm_without_torchvision()
    return check(case.make())


ROTARY_TORCH = "rotary-embedding-torch"
SMALL = (
    Case(
        ROTARY_TORCH,
        "rotary",
        peers.rotary_embedding_torch,
        ("unique",),
        Fault(
            "Positions in the dtype of the queries",
            "With bfloat16 queries, positions are rounded to 8 bits before they become angles: "
            "beyond 256, neighbouring positions are rotated by the same angle.",
            """import torch
from rotary_embedding_torch import RotaryEmbedding
x = torch.linspace(1, 2, 64, dtype=torch.bfloat16).expand(4096, 64)
turned = RotaryEmbedding(64).rotate_queries_or_keys(x)
print(len(turned.float().unique(dim=0)), "of 4096 positions distinct")""",
        ),
    ),
    Case(
        ROTARY_TORCH,
        "rotary, one module in two dtypes",
        lambda: peers.rotary_embedding_torch(shared=True),
        ("stateless",),
        Fault(
            "Rounded angles are cached and reused for float32",
            "The key of the angle cache does not include the dtype, so one call in bfloat16 (an "
            "evaluation, a warm-up) corrupts every later call in float32.",
            """import torch
from rotary_embedding_torch import RotaryEmbedding
used, fresh, x = RotaryEmbedding(64), RotaryEmbedding(64), torch.ones(1000, 64)
used.rotate_queries_or_keys(x.bfloat16())
print((used.rotate_queries_or_keys(x) - fresh.rotate_queries_or_keys(x)).abs().max())""",
        ),
    ),
    Case(
        "x-transformers",
        "rotary",
        peers.x_transformers,
        ("castproof",),
        Fault(
            "After a cast of the module, positions are bfloat16",
            "The frequencies are a buffer, which `.to(torch.bfloat16)` rounds, and positions take "
            "on its dtype.",
            """import torch
from x_transformers.x_transformers import RotaryEmbedding
angles, _ = RotaryEmbedding(64).bfloat16()(torch.arange(4096))
print(len(angles[0].float().unique(dim=0)), "of 4096 positions distinct")""",
        ),
    ),
    Case("x-transformers", "ALiBi", peers.x_transformers_alibi),
    Case(
        "positional-encodings",
        "1-D",
        peers.positional_encodings,
        ("castproof",),
        Fault(
            "After a cast of the module, positions are bfloat16",
            "As in x-transformers: positions take on the dtype of the frequency buffer.",
            """import torch
from positional_encodings.torch_encodings import PositionalEncoding1D
table = PositionalEncoding1D(64).bfloat16()(torch.zeros(1, 4096, 64))[0]
print(len(table.unique(dim=0)), "of 4096 positions distinct")""",
        ),
    ),
    Case(
        "positional-encodings",
        "3-D, 8 channels",
        lambda: peers.positional_encodings(8, axes=3),
        ("unique", "every_axis"),
        Fault(
            "The third axis is cut off",
            "Each axis gets 4 channels, 12 in all, of which the first 8 are kept: points that "
            "differ only in z have the same encoding, without any warning.",
            """import torch
from positional_encodings.torch_encodings import PositionalEncoding3D
grid = PositionalEncoding3D(8)(torch.zeros(1, 5, 5, 5, 8))[0]
for axis, name in enumerate("xyz"):
    print(name, grid.diff(dim=axis).abs().max())""",
        ),
    ),
    Case(
        "positional-encodings",
        "3-D, 60 channels",
        lambda: peers.positional_encodings(60, axes=3),
        ("castproof",),
    ),
    Case("torchtune", "rotary", peers.torchtune),
    Case(
        "timm",
        "rotary, 2-D",
        peers.timm_rotary,
        ("castproof",),
        Fault(
            "After a cast of the module, frequencies are rounded",
            "The frequencies are a buffer: `.to(torch.bfloat16)` changes every angle by up to "
            "0.4%, so the error grows with the size of the image.",
            """import torch
from timm.layers.pos_embed_sincos import RotaryEmbeddingCat
rope = RotaryEmbeddingCat(64, in_pixels=False)
before, after = rope.get_embed([300, 1]), rope.bfloat16().get_embed([300, 1])
print((after - before).abs().max())""",
        ),
    ),
    Case("keras-hub", "sine, float32", peers.keras_hub_sine),
    Case(
        "keras-hub",
        "sine, mixed_bfloat16",
        lambda: peers.keras_hub_sine(policy="mixed_bfloat16"),
        ("unique",),
        Fault(
            "Positions in the compute dtype",
            "Under mixed precision, positions are rounded to 8 bits before they become angles; "
            "the rotary layer of the same library uses float32.",
            """import torch
from keras_hub.layers import SinePositionEncoding
table = SinePositionEncoding(dtype="mixed_bfloat16")(torch.zeros(1, 4096, 64))[0]
print(len(table.float().unique(dim=0)), "of 4096 positions distinct")""",
        ),
    ),
    Case("keras-hub", "rotary, float32", peers.keras_hub_rotary),
)

MODELS = (
    Case(
        "transformers",
        "Llama",
        peers.hugging_face,
        ("castproof",),
        Fault(
            "Llama's rotary module after a cast",
            "The frequencies are a buffer, which `.to(torch.bfloat16)` and `.half()` round "
            "(`from_pretrained` does not). A hundred models have a copy of this module, among "
            "them GLM and GPT-OSS above.",
            """import torch
from transformers.models.llama.modeling_llama import LlamaConfig, LlamaRotaryEmbedding
rope, p = LlamaRotaryEmbedding(LlamaConfig(head_dim=64)), torch.arange(2001)[None]
before, after = rope(torch.ones(1), p)[0], rope.bfloat16()(torch.ones(1), p)[0]
print((after - before).abs().max())""",
        ),
    ),
    *(
        Case("transformers", name, lambda model=model: peers.hugging_face(model), ("castproof",))
        for name, model in (("GLM, half of a head", "glm"), ("GPT-OSS, YaRN", "gpt_oss"))
    ),
    Case(
        "transformers",
        "V-JEPA 2",
        peers.vjepa2,
        ("norm_preserving", "relative", "composes", "unique"),
        Fault(
            "V-JEPA 2 is not a rotation",
            "Cosines are tiled although pairs are neighbouring channels, so the two channels of a "
            "pair are rotated by different angles: norms change, and logits depend on more than "
            "the distance. Trained weights depend on this. (`unique` fails in bfloat16, beyond "
            "position 256.)",
            """import torch
from transformers.models.vjepa2.modeling_vjepa2 import rotate_queries_or_keys
x = torch.randn(16, generator=torch.Generator().manual_seed(0)).expand(1, 1, 64, 16)
lengths = rotate_queries_or_keys(x, torch.arange(64)[None, None]).norm(dim=-1) / x.norm(dim=-1)
print(lengths.min(), lengths.max())""",
        ),
    ),
    Case("transformers", "BLOOM's ALiBi, float32", peers.bloom),
    Case(
        "transformers",
        "BLOOM's ALiBi, bfloat16",
        lambda: peers.bloom(16, "bfloat16"),
        ("relative",),
        Fault(
            "BLOOM's ALiBi in bfloat16",
            "The bias is the slope times the absolute position, rounded at the end. Far from the "
            "start, the nearest keys therefore share one bias, which then jumps by 16 where each "
            "step should be 0.707. A bias computed from the distance would be exact for near keys "
            "everywhere.",
            """import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
mask = torch.ones(1, 4096, dtype=torch.long)
line = build_alibi_tensor(mask, 16, torch.bfloat16)[0, 0].float()
print(len(line.unique()), "of 4096 distinct; the last steps are", line.diff()[-64:].unique())""",
        ),
    ),
)
CASES = SMALL + MODELS
