"""Converting a checkpoint to the other pairing, against copying the file."""

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from posenc.bench.case import Bound, Entry, Request, Setup, cases_by_size
from posenc.interop.checkpoints import files
from posenc.interop.checkpoints.stream import prepare
from posenc.interop.checkpoints.verify import read_arrays

COPY, CONVERT = "copy", "posenc convert"
MEGABYTE, DIM = 2**20, 1024
"""A layer of this many channels has 26 megabytes in bfloat16."""
HEADS, KEY_HEADS = 8, 2
COPIES = 5
"""How often the file must fit on the disk: itself, its copy, two conversions, and some room."""
NOTHING = Bound(float(np.finfo(np.float64).tiny))
"""Values are moved, so none may differ."""
FIRST = "model.layers.0."


class Checkpoint:
    """A Llama of random weights in a folder of its own, which goes with this object."""

    def __init__(self, size: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="posenc-convert-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.path, self.copied, self.converted = (
            self.folder / name for name in ("model.safetensors", "copied", "converted")
        )
        layers, rest = divmod(size // 2, 13 * DIM**2)
        shapes = {f"model.layers.{i}.{n}": s for i in range(layers) for n, s in _shape_layer()}
        self.shapes = shapes | {"lm_head.weight": (rest // DIM, DIM)}
        self.config = {"model_type": "llama", "hidden_size": DIM, "num_hidden_layers": layers,
                       "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS}  # fmt: skip
        largest = max(rows * columns for rows, columns in self.shapes.values())
        values = np.random.default_rng(0).standard_normal(largest, dtype=np.float32)
        self.bits = (values.view(np.uint32) >> 16).astype("<u2")
        self._write()
        self.order = [COPY, CONVERT]

    def _write(self) -> None:
        tensors, end = dict[str, files.Tensor](), 0
        for name, shape in self.shapes.items():
            start, end = end, end + 2 * shape[0] * shape[1]
            tensors[name] = files.Tensor("BF16", shape, start, end)
        header = files.Header(self.path, tensors, {}, 0, 0)
        with self.path.open("wb") as file:
            file.write(header.with_pairing("halves"))
            for rows, columns in self.shapes.values():
                file.write(self.bits[: rows * columns].data)
            file.flush()
            os.fsync(file.fileno())

    def time_both(self) -> dict[str, float]:
        """The seconds of a copy and of a conversion, which begin in turn.

        Each writes a new file when the disk has nothing else to write: what is left of the work
        before, and giving back the space of an old file, take a disk longer than a conversion.
        """
        self.order.reverse()
        work = {COPY: self.copy, CONVERT: self.convert}
        return {name: self._time(work[name]) for name in self.order}

    def _time(self, work: Callable[[], None]) -> float:
        for file in (self.copied, self.converted):
            file.unlink(missing_ok=True)
        if hasattr(os, "sync"):
            os.sync()
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def copy(self) -> None:
        """Copy the file and wait until it is on the disk, as a conversion does."""
        shutil.copyfile(self.path, self.copied)
        with self.copied.open("rb+") as file:
            os.fsync(file.fileno())

    def convert(self) -> None:
        """Convert the file."""
        prepare(self.path, self.config, self.converted, to="interleaved").run()

    def compare(self) -> Iterable[tuple[Tensor, Tensor]]:
        """The first layer of the converted file beside its rows in the new order."""
        self.convert()
        header = files.read_header(self.converted)
        made = read_arrays(header, lambda name: name.startswith(FIRST))
        for name, array in made.items():
            yield torch.from_numpy(array), torch.from_numpy(self._reorder(name)).double()

    def _reorder(self, name: str) -> np.ndarray:
        rows, columns = self.shapes[name]
        bits = self.bits[: rows * columns].astype(np.uint32) << 16
        array = bits.view(np.float32).reshape(rows, columns)
        if not name.endswith(("q_proj.weight", "k_proj.weight")):
            return array
        half = DIM // HEADS // 2
        return array.reshape(-1, 2, half, columns).swapaxes(1, 2).reshape(rows, columns)


def _shape_layer() -> Iterable[tuple[str, tuple[int, int]]]:
    """The tensors of a layer, 13 DIM^2 numbers."""
    wide, few = 7 * DIM // 2, DIM * KEY_HEADS // HEADS
    for name, rows in (("q", DIM), ("k", few), ("v", few), ("o", DIM)):
        yield f"self_attn.{name}_proj.weight", (rows, DIM)
    for name, shape in (("gate", (wide, DIM)), ("up", (wide, DIM)), ("down", (DIM, wide))):
        yield f"mlp.{name}_proj.weight", shape


def build(megabytes: int, _request: Request) -> Setup:
    """A file of so many megabytes, if the disk has room for it."""
    size = megabytes * MEGABYTE
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < COPIES * size:
        rule = f"the folder for temporary files must have {COPIES * size:,} bytes of free space"
        return Setup({}, {CONVERT: f"{rule}; it has {free:,}"})
    checkpoint = Checkpoint(size)
    entries = {
        COPY: Entry(checkpoint.copy),
        CONVERT: Entry(checkpoint.convert, checkpoint.compare, NOTHING, ours=True),
    }
    checkpoint.copy()  # the first one after the file was written takes several times as long
    return Setup(entries, sample=checkpoint.time_both)


CASES = tuple(
    cases_by_size(
        "convert",
        "checkpoints",
        "a Llama of {size} MB in bfloat16, to the other pairing, until it is on the disk",
        build,
        (64, 512, 2048),
        quick=64,
    )
)
