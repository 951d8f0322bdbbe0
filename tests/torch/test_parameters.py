"""What the modules own: drawn, loaded, sharded."""

import pytest
import torch

import posenc as pe
from posenc.torch import BiasLogits

SHARDED = """
import torch, torch.distributed as dist, posenc as pe
from torch.distributed.fsdp import fully_shard
from posenc.torch import BiasLogits
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
module, p = BiasLogits(pe.FIRE(4)), torch.arange(5)
expected = module(torch.zeros(1, 4, 5, 5), p).detach()
made = fully_shard(module, mesh=mesh)(torch.zeros(1, 4, 5, 5), p)
made.sum().backward()
assert torch.equal(made, expected)
assert all(x.grad is not None for x in module.parameters())
dist.destroy_process_group()
"""


@pytest.mark.slow  # five seconds; the next test holds what FSDP asks for
def test_parameters_can_be_sharded():
    """FSDP refuses parameters without an axis, as FIRE's c was."""
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", SHARDED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_single_numbers_have_an_axis_in_the_module_and_none_in_the_encoding():
    module = BiasLogits(pe.FIRE(4))
    assert all(parameter.ndim for parameter in module.parameters())
    assert module.tensors()["c"].shape == ()
    old = {name: x.reshape(()) if x.numel() == 1 else x for name, x in module.state_dict().items()}
    other = BiasLogits(pe.FIRE(4))
    other.load_state_dict(old)
    assert all(torch.equal(x, module.state_dict()[n]) for n, x in other.state_dict().items())
    holder = torch.nn.ModuleDict({"bias": BiasLogits(pe.FIRE(4))})
    holder.load_state_dict({f"bias.{name}": x for name, x in old.items()})
