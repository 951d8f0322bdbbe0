"""The layout of safetensors files: 8 bytes of size, a JSON header, the bytes of each tensor."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from posenc.core.rotation import Pairing
from posenc.encodings.rope import PAIRINGS

INDEX = "model.safetensors.index.json"
KEY = "posenc.pairing"
"""The metadata entry that records the pairing of a converted file."""
MOST_HEADER = 100_000_000  # as in safetensors
BITS = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
        "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16,
        "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "F64": 64, "I64": 64, "U64": 64,
        "C64": 64}  # fmt: skip

PICKLES = (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
"""How the files of torch.save begin: a zip archive of a pickle, or a pickle."""


@dataclass(frozen=True)
class Tensor:
    """A tensor in a file: its shape, and the bytes it has from `start` to `end`."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def place(self) -> tuple[int, int]:
        """Sorts the tensors of a file; an empty one starts where the next does."""
        return self.start, self.end


@dataclass(frozen=True)
class Header:
    """What a file says about itself; `data` is where the bytes of tensors begin."""

    path: Path
    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    data: int
    size: int

    @property
    def pairing(self) -> Pairing | None:
        """The pairing that a conversion recorded."""
        return next((name for name in PAIRINGS if self.metadata.get(KEY) == name), None)

    def with_pairing(self, pairing: Pairing) -> bytes:
        """The first bytes of the same file, with its pairing recorded.

        A converted file has the same tensors in the same places after its header, so the header is
        all that is written anew: the library can only write a file whose tensors are in memory.
        """
        fields: dict[str, Any] = {"__metadata__": {**self.metadata, KEY: pairing}}
        for name, tensor in self.tensors.items():
            offsets = [tensor.start, tensor.end]
            fields[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": offsets}
        text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text


def read_header(path: Path) -> Header:
    """Read the header of a file and check it against the file's size; a bad one is an error.

    The bytes of tensors are not read. Where the safetensors library is installed it must open the
    file too, since it is what others read the result with.
    """
    refuse_pickle(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, MOST_HEADER):
            raise _broken(path, "its header is cut off")
        text = file.read(length)
    try:
        fields = json.loads(text, object_pairs_hook=_refuse_twins)
        metadata = fields.pop("__metadata__", {})
        tensors = {name: _read_tensor(value) for name, value in fields.items()}
        if not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("metadata must be strings")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _broken(path, f"its header is not valid ({error})") from error
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].place):
        if tensor.start != end or _count_bytes(tensor) != tensor.end - tensor.start:
            raise _broken(path, f"the place of {name} does not agree with its shape")
        end = tensor.end
    if 8 + length + end != size:
        wanted = 8 + length + end
        raise _broken(path, f"it must have {wanted:,} bytes and has {size:,}")
    _open_with_library(path)
    return Header(path, tensors, metadata, 8 + length, size)


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two entries of one name counts."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name stands there twice")
    return fields


def _read_tensor(value: Any) -> Tensor:
    shape = tuple(value["shape"])
    start, end = value["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in (*shape, start, end)):
        raise ValueError("shapes and places must be whole numbers")
    if value["dtype"] not in BITS:
        raise ValueError(f"unknown dtype {value['dtype']!r}")
    return Tensor(value["dtype"], shape, start, end)


def _open_with_library(path: Path) -> None:
    try:
        from safetensors import SafetensorError, safe_open
    except ModuleNotFoundError:  # an extra
        return
    try:
        with safe_open(path, "numpy"):
            pass
    except SafetensorError as error:
        raise _broken(path, f"the safetensors library says: {error}") from error


def _count_bytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * BITS[tensor.dtype] // 8


def _broken(path: Path, why: str) -> ValueError:
    return ValueError(f"{path} must be a whole safetensors file: {why}")


def refuse_pickle(path: Path) -> None:
    """Refuse the checkpoints of torch.save, which are pickles."""
    with path.open("rb") as file:
        start = file.read(9)
    if start[:2] in PICKLES and start[8:] != b"{":  # a header may be as long as a pickle begins
        raise ValueError(
            f"{path} must be a safetensors file; it is a pickle, which can run any code when it is "
            "opened: convert it to safetensors where you trust it"
        )


def find_index(path: Path) -> Path | None:
    """The index of a checkpoint of several files: the path itself, or in the folder."""
    index = path / INDEX if path.is_dir() else path
    return index if index.suffix == ".json" and index.exists() else None


def find_files(path: Path) -> list[Path]:
    """The files of a checkpoint: one, those that an index lists, or the one of a folder.

    An index must list files beside it, all of which must exist.
    """
    index = find_index(path)
    if index is None:
        return [_find_only_file(path) if path.is_dir() else path]
    names = sorted(set(_read_index(index).values()))
    missing = [name for name in names if not (index.parent / name).is_file()]
    if missing:
        raise ValueError(f"{index} lists files that are not there: {', '.join(missing)}")
    return [index.parent / name for name in names]


def _find_only_file(folder: Path) -> Path:
    found = sorted(folder.glob("*.safetensors"))
    if len(found) == 1:
        return found[0]
    for pickle in () if found else (*folder.glob("*.bin"), *folder.glob("*.pt")):
        refuse_pickle(pickle)
    told = ", ".join(file.name for file in found) or "none"
    raise ValueError(f"{folder} must have {INDEX} or one safetensors file; got {told}")


def _read_index(path: Path) -> dict[str, str]:
    """The file of each tensor."""
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(index, dict) or not isinstance(index.get("weight_map"), dict):
            raise ValueError("no weight_map")
        files = cast(dict[str, str], index["weight_map"])
        if not files or any(Path(name).name != name for name in files.values()):
            raise ValueError("weight_map must name files beside it")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} must be the index of a checkpoint; got {error}") from error
    return files


def require_listed(index: Path, headers: Iterable[Header]) -> None:
    """Refuse an index that lists tensors in files that do not have them."""
    found = {(name, header.path.name) for header in headers for name in header.tensors}
    missing = [f"{name} in {file}" for name, file in _read_index(index).items()
               if (name, file) not in found]  # fmt: skip
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise ValueError(f"{index} lists tensors that are not there: {missing[0]}{more}")
