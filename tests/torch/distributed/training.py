"""Training what encodings learn with DDP and FSDP; for the ranks, and for one process."""

import copy
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

import posenc as pe
from posenc.torch import Positions

BATCH, HEADS, LENGTH, DIM = 4, 4, 12, 16
SIZES = {"dim": DIM, "heads": HEADS, "length": LENGTH, "reach": 5, "window": (5, 5)}
STEPS = 3


def learners() -> dict[str, pe.Encoding]:
    """Every encoding that trains a parameter, by name, of a size that fits the model."""
    made = {}
    for name, kind in pe.catalogue().items():
        additive = issubclass(kind, pe.Additive)
        encoding = kind.example(**SIZES | {"dim": DIM * HEADS if additive else DIM})
        if any(parameter.trained for parameter in encoding.parameters().values()):
            made[name] = encoding
    return made


class Layer(nn.Module):
    """Attention to x itself, with positions where the encoding acts."""

    def __init__(self, encoding: pe.Encoding):
        super().__init__()
        self.positions = Positions(encoding)

    def forward(self, x: Tensor) -> Tensor:
        encoding = self.positions.encoding
        where = torch.arange(LENGTH)
        if encoding.axes is not None:
            where = torch.from_numpy(pe.grid(5, 5)[:LENGTH])
            where = where / 5.0 if encoding.unit_positions else where
        x = self.positions.embed(x, where)
        q = x.unflatten(-1, (HEADS, DIM)).transpose(1, 2)
        grid = {"q_pos": where} if encoding.axes and not isinstance(encoding, pe.Additive) else {}
        return self.positions.attend(q, q, q, causal=True, **grid)


def make_layer(encoding: pe.Encoding) -> Layer:
    """The same parameters on every rank."""
    torch.manual_seed(0)
    return Layer(encoding).double()


def text() -> Tensor:
    return torch.randn(BATCH, LENGTH, DIM * HEADS, dtype=torch.float64, generator=_generator(1))


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def train(layer: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """The parameters after a few steps, each whole."""
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    target = torch.linspace(-1, 1, DIM, dtype=torch.float64)
    for _ in range(STEPS):
        loss = (layer(x) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name.removeprefix("module."): _whole(p) for name, p in layer.named_parameters()}


def _whole(parameter: Tensor) -> Tensor:
    full = getattr(parameter, "full_tensor", None)
    return (parameter if full is None else full()).detach().clone()


def shard_all(layer: Layer, mesh: "dist.DeviceMesh") -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    return fully_shard(layer, mesh=mesh)


def shard_each(layer: Layer, mesh: "dist.DeviceMesh") -> nn.Module:
    """The encoding as a unit of its own, which methods other than forward gather."""
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    fully_shard(layer.positions, mesh=mesh)
    for method in ("embed", "attend"):
        register_fsdp_forward_method(layer.positions, method)
    return fully_shard(layer, mesh=mesh)


def wrap_ddp(layer: Layer, mesh: "dist.DeviceMesh") -> nn.Module:
    return DistributedDataParallel(layer)


WAYS = {"ddp": wrap_ddp, "fsdp": shard_all, "fsdp, each": shard_each}


def list_cases(world: int) -> list[tuple[str, str]]:
    """Names of encodings and ways: one for each encoding in turn if ranks are two, else all."""
    ways = [*WAYS]
    return [
        (name, way)
        for number, name in enumerate(learners())
        for way in (ways if world > 2 else [ways[number % len(ways)]])
    ]


def run(rank: int, world: int, folder: Path) -> None:
    """Save the trained parameters of this rank, by encoding and way; and what `_reset` makes."""
    mesh = dist.init_device_mesh("cpu", (world,))
    x = text().chunk(world)[rank]
    encodings = learners()
    made = {
        (name, way): train(WAYS[way](make_layer(encodings[name]), mesh), x)
        for name, way in list_cases(world)
    }
    torch.save(made, folder / f"training-{rank}.pt")
    torch.save(_reset(rank, mesh), folder / f"reset-{rank}.pt")
    torch.save(_load_without_axes(mesh), folder / f"loaded-{rank}.pt")


def _reset(rank: int, mesh: "dist.DeviceMesh") -> dict[str, Tensor]:
    """Parameters that were sharded on the meta device and drawn after that."""
    from torch.distributed.fsdp import fully_shard

    with torch.device("meta"):
        layer = Layer(pe.FIRE(HEADS))
    fully_shard(layer, mesh=mesh)
    layer.to_empty(device="cpu")
    torch.manual_seed(rank)  # only rank 0 draws what counts
    layer.positions.reset_parameters()
    return {name: _whole(p) for name, p in layer.named_parameters()}


def _load_without_axes(mesh: "dist.DeviceMesh") -> dict[str, Tensor]:
    """Sharded parameters that were loaded from a whole file whose single numbers have no axis."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
    from torch.distributed.fsdp import fully_shard

    state = make_layer(pe.FIRE(HEADS)).state_dict()
    state = {name: x.reshape(()) if x.numel() == 1 else x for name, x in state.items()}
    layer = Layer(pe.FIRE(HEADS)).double()
    layer.positions.params["c"].data.zero_()
    fully_shard(layer, mesh=mesh)
    set_model_state_dict(layer, state, options=StateDictOptions(full_state_dict=True))
    return {name: _whole(p) for name, p in layer.named_parameters()}


@cache
def train_alone(name: str) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters before and after, in one process with the whole batch."""
    layer = make_layer(learners()[name])
    before = copy.deepcopy(dict(layer.named_parameters()))
    return {n: p.detach() for n, p in before.items()}, train(layer, text())
