"""Finding encodings: by name, as an expression, in a file, in a module, in a model's config."""

import dataclasses
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from posenc import scalings
from posenc.core.encoding import SIZES, Encoding, unwrap
from posenc.core.hints import did_you_mean, fold, nearest
from posenc.core.scaling import Scaling
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.registry import catalogue, load_builtins, lookup
from posenc.encodings.rope import RoPE
from posenc.i18n import LANGUAGES, N_, translatable, translator
from posenc.names.expressions import (
    Check,
    evaluate,
    find_maker,
    not_an_encoding,
    spellings,
    to_source,
)


def share_out(total: int, like: tuple[int, ...]) -> tuple[int, ...]:
    """So many pairs in the proportions of `like`; the first has what is left over.

    >>> share_out(64, (2, 3, 3)), share_out(10, (1, 1, 1))
    ((16, 24, 24), (4, 3, 3))
    """
    later = [total * part // sum(like) for part in like[1:]]
    return total - sum(later), *later


def _mrope(dim: int) -> Encoding:
    """M-RoPE in Qwen2-VL's proportions: 2 of 8 pairs for time, 3 for height, 3 for width."""
    return AxialRoPE.mrope(dim, sections=share_out(dim // 2, (2, 3, 3)))


def _longrope(dim: int) -> Encoding:
    """LongRoPE with factors from 1 to 4: those of models were searched, a pair at a time."""
    pairs = dim // 2
    factors = tuple(round(1 + 3 * i / max(1, pairs - 1), 2) for i in range(pairs))
    return RoPE(dim, scaling=scalings.LongRoPE((1.0,) * pairs, factors, 4096, factor=4.0))


VARIANTS: dict[str, Callable[[int], Encoding]] = {
    "interpolation": lambda dim: RoPE(dim, scaling=scalings.Interpolation(4.0)),
    "ntk": lambda dim: RoPE(dim, scaling=scalings.NTK(4.0)),
    "dynamic-ntk": lambda dim: RoPE(dim, scaling=scalings.DynamicNTK(4.0, 4096)),
    "yarn": lambda dim: RoPE(dim, scaling=scalings.YaRN(4.0, 4096)),
    "llama3": lambda dim: RoPE(dim, base=500_000.0, scaling=scalings.Llama3(8.0, 8192)),
    "p-rope": lambda dim: RoPE(dim, scaling=scalings.Proportional(0.25)),
    "mrope": _mrope,
}
"""Names for RoPE with a typical scaling, and for M-RoPE."""
SCALED = VARIANTS | {"longrope": _longrope}
"""The same and LongRoPE, which has a factor for each pair: its dim cannot be changed afterwards."""

FILES = (".json", ".py", ".txt", ".toml", ".yaml", ".yml", ".csv", ".safetensors", ".bin", ".pt")
"""How names end that people give to files."""
SYNONYMS = (
    ("embedding", "encoding"),
    ("encoding", "embedding"),
    ("position", "positional"),
    ("埋め込み", "エンコーディング"),
    ("编码", "嵌入"),
    ("編碼", "嵌入"),
)
"""Words of titles for which others are as common."""
IMPORT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)
"""package.module:name"""
CODE = re.compile(r"[A-Za-z_][\w.-]*\(", re.ASCII)
"""How a call begins."""


def canonical_name(what: str) -> str | None:
    """The name in the list of encodings that `what` is a spelling of; None if there is none.

    Case, hyphens, underscores and spaces do not count; names of classes and of scalings, and titles
    in four languages, are names too.

    >>> canonical_name("Transformer_XL"), canonical_name("T5Bias"), canonical_name("旋转位置编码")
    ('transformer-xl', 't5', 'rope')
    """
    return _spellings().get(fold(what))


@cache  # to look through all installed packages takes longer than most of what is asked
def _spellings() -> dict[str, str]:
    """Each name in the list of encodings under all its spellings, folded."""
    listed = {kind: name for name, kind in catalogue().items()}
    others = {folded: listed[kind] for folded, kind in spellings().items() if kind in listed}
    return _titles() | others | {fold(name): name for name in SCALED}


def _titles() -> dict[str, str]:
    """The titles of our encodings in four languages and the classes of scalings, folded."""
    kinds: dict[str, type[Encoding | Scaling]] = {**load_builtins()}
    for name, make in SCALED.items():
        encoding = make(64)
        if isinstance(encoding, RoPE) and encoding.scaling is not None:
            kinds[name] = type(encoding.scaling)
    titles = {fold(kind.__name__): name for name, kind in kinds.items()}
    for lang in LANGUAGES:
        t = translator(lang)
        titles |= {fold(t(kind.about.title)): name for name, kind in kinds.items()}
    for word, other in SYNONYMS:
        titles = {title.replace(word, other): name for title, name in titles.items()} | titles
    return {fold("正弦位置编码"): "sinusoidal"} | titles


def resolve(what: str, **sizes: int) -> dict[str, Encoding]:
    """The encodings that `what` names, each with a name of its own.

    `what` is one of our names, an expression such as RoPE(64, scaling=YaRN(4, 8192)),
    package.module:name, or a model's config.json (its path or its text). `sizes` (dim, length,
    heads) are for names only: what else is given has its own.

    >>> resolve("RoPE", dim=8)["rope"].dim
    8
    >>> resolve("ALiBi(4)")
    {'ALiBi(4)': ALiBi(4)}
    """
    name = canonical_name(what)
    if name is not None:
        return {name: make_example(name, **sizes)}
    text = is_config_text(what)
    expression, imported = "(" in what and not text, IMPORT.fullmatch(what) is not None
    if not (expression or text):
        _check_file(what)
    if not (expression or imported or text or what.endswith(".json")):
        raise unknown_name(what)
    if sizes:
        raise ValueError(
            f"{', '.join(sizes)} must be left out for an encoding with its own size; got {what!r}"
        )
    if expression:
        return {what: evaluate_encoding(what)}
    return _import(what) if imported else _read_model_config(what)


def make_example(name: str, **sizes: Any) -> Encoding:
    """The encoding of one of our names, of typical size where `sizes` does not say.

    >>> make_example("yarn", dim=8), make_example("t5", dim=8)
    (RoPE(8, scaling=YaRN(4.0, 4096)), T5Bias(8))
    """
    if name in SCALED:
        return SCALED[name]((SIZES | sizes)["dim"])
    return lookup(name).example(**sizes)


def _import(what: str) -> dict[str, Encoding]:
    module, _, name = what.partition(":")
    try:
        given = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"an encoding must be importable; got {what!r}: {error}") from error
    return {what: as_encoding(given)}


def _read_model_config(what: str) -> dict[str, Encoding]:
    from posenc.interop import read_config

    model = read_config(what)
    source = model.model_type if is_config_text(what) else what
    return {f"{source}: {encoding}": encoding for encoding in dict.fromkeys(model.layers)}


def is_sentence(what: str) -> bool:
    """Whether `what` can only be a sentence: nothing that names an encoding, nor nearly so.

    >>> is_sentence("the dog bit the man"), is_sentence("rop"), is_sentence("missing/config.json")
    (True, False, False)
    """
    return may_be_sentence(what) and (len(what.split()) > 1 or not _nearest_name(what))


def may_be_sentence(what: str) -> bool:
    """Whether `what` names no encoding and has not the form of a call, a config or an import.

    >>> may_be_sentence("rop"), may_be_sentence("RoPE(64, theta=1)"), may_be_sentence("confg.json")
    (True, False, False)
    """
    called = CODE.match(what) or find_maker(what.partition("(")[0])
    if canonical_name(what) or called or is_config_text(what):
        return False
    return len(what.split()) > 1 or not (_is_path(what) or IMPORT.fullmatch(what))


@contextmanager
def hint_tokens(what: str) -> Generator[None]:
    """Let the error of a name that may be a sentence say which argument takes one."""
    try:
        yield
    except ValueError as error:
        if not may_be_sentence(what):
            raise
        raise ValueError(f"{error}; a sentence is given by tokens={what!r}") from error


def is_config_text(what: str) -> bool:
    """Whether `what` is the text of a config.json rather than its path: it begins with a brace."""
    return what.lstrip().startswith("{")


def _nearest_name(what: str) -> str | None:
    near = nearest(what, _spellings())
    return None if near is None else _spellings()[near]


def unknown_name(what: str) -> ValueError:
    """The error of a name that no encoding has, with the nearest one."""
    near = _nearest_name(what)
    if near is not None:
        return ValueError(
            f"no encoding is called {what!r}{did_you_mean(near)} `posenc list` shows every name"
        )
    return ValueError(
        f"no encoding is called {what!r}; give a name (`posenc list` shows every one), an "
        "expression such as RoPE(64, base=5e5), a config.json or package.module:name"
    )


def _is_path(what: str) -> bool:
    return what.endswith(FILES) or "/" in what or "\\" in what


def _check_file(what: str) -> None:
    """Say that a path must be that of a config.json that exists."""
    if not _is_path(what):
        return
    path = Path(what)
    if path.is_dir():
        raise ValueError(f"{what} is a directory; give the config.json in it")
    if not path.is_file():
        near = nearest(path.name, (each.name for each in path.parent.glob("*.json")))
        hint = did_you_mean(None if near is None else str(path.with_name(near)))
        raise ValueError(f"no such file: {what}{hint}")
    if what.endswith(".py"):
        raise ValueError(
            f"{what} is Python: `--load {what}` on the command line or "
            "posenc.names.resolve.load_file read it"
        )
    if not what.endswith(".json"):
        raise ValueError(f"a model's config must be a .json file; got {what}")


def resolve_one(what: object, **sizes: int) -> Encoding:
    """The one encoding that is given, or named as in `resolve`.

    >>> resolve_one("alibi(4)").heads
    4
    """
    if isinstance(what, Encoding):
        return what
    if not isinstance(what, str | PathLike):
        raise TypeError(
            "encoding must be an Encoding (pe.adapt makes one of other code), a name, an "
            f"expression or a config.json; got {what!r}"
        )
    values = list(resolve(fspath(cast("str | PathLike[str]", what)), **sizes).values())
    if len(values) > 1:
        several = " and ".join(map(to_source, values))
        raise ValueError(f"encoding must be a single one; got {what}, which has {several}")
    return values[0]


def refuse_unused(sizes: Mapping[str, int], *encodings: Encoding) -> None:
    """Say that a size must be left out where none of these encodings has it."""
    unused = [name for name in sizes if not any(_has_size(each, name) for each in encodings)]
    if unused:
        kinds = " or ".join(dict.fromkeys(type(each).__name__ for each in encodings))
        raise ValueError(
            f"{' and '.join(unused)} must be left out: not a size of {kinds}; got "
            + ", ".join(f"{name}={sizes[name]}" for name in unused)
        )


def _has_size(encoding: Encoding, size: str) -> bool:
    """Whether an encoding states a size of this name."""
    own = unwrap(encoding)
    if dataclasses.is_dataclass(own):
        return any(field.name == size for field in dataclasses.fields(own))
    return size in ("dim", "heads") and getattr(own, size) is not None


def evaluate_encoding(expression: str, *, check: Check | None = None) -> Encoding:
    """The encoding that a Python expression spells: what `repr` prints, or a preset. No code runs.

    `check` sees the arguments of each part before it is made.

    >>> evaluate_encoding("RoPE(64, scaling=YaRN(4, 8192))").scaling.factor
    4
    >>> evaluate_encoding("AxialSinusoidal.mae(16)").layout
    'concat'
    """
    return as_encoding(evaluate(expression, check=check))


def load_file(path: str | Path) -> dict[str, Encoding]:
    """The encodings in a file: values by their names, and classes that need no more than sizes."""
    path = Path(path)
    spec = importlib.util.spec_from_file_location(f"posenc_loaded_{path.stem}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise ValueError(f"file must be a Python file that exists; got {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the names of annotations
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:  # the reader has had enough: that is no fault of the file
        raise
    except BaseException as error:  # it may even call sys.exit
        told = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"file must run without an error; got {path}, which raised {told}"
        ) from error

    def is_own(value: object) -> bool:
        if isinstance(value, type):
            return issubclass(value, Encoding) and value.__module__ == spec.name
        return isinstance(value, Encoding)

    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    mine = {name: as_encoding(value) for name, value in public.items() if is_own(value)}
    if not mine:
        raise ValueError(f"file must define an encoding; got {path}, which defines none")
    return mine


def as_encoding(given: object) -> Encoding:
    """What is given, if it is an encoding, or one of typical size of what is a class of them."""
    if isinstance(given, type) and issubclass(given, Encoding):
        return given.example()
    if isinstance(given, scalings.Scaling):
        template = N_(
            "what is named must be an Encoding; got {given!r}; did you mean "
            "RoPE(64, scaling={given!r})?"
        )
        raise translatable(TypeError, template, given=given)
    if not isinstance(given, Encoding):
        raise not_an_encoding(given)
    return given
