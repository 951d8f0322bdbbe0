"""All that ranks are to do, in one launch: importing PyTorch takes longer than any of it."""

from pathlib import Path

from tests.torch.distributed import attention, inputs, training


def run(rank: int, world: int, folder: Path) -> None:
    """Run each part in turn."""
    for part in (attention, training, inputs):
        part.run(rank, world, folder)
