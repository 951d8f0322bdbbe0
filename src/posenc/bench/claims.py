"""What posenc promises of its speed: the bars that a run is held against."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from posenc.bench.attentions import PLAIN
from posenc.bench.conversions import COPY
from posenc.bench.models import HAND
from posenc.bench.startup import IMPORT, SLOWEST
from posenc.bench.swaps import OWN
from posenc.i18n import N_, Phrase, phrase

Kind = Literal["time", "speed", "beyond", "seconds"]

CAPTION = N_(
    "Measured by `posenc bench` on {machine}: {met} of {bars} bars are met, and "
    "docs/performance.md names the others. ~ marks timings that were unsteady."
)
"""What stands under a table of claims."""


@dataclass(frozen=True)
class Claim:
    """A bar: of these entries in these cases, measured as its kind says.

    words    what is measured, in any language
    cases    names of cases, with wildcards
    entries  names of ours, with wildcards
    kind     "time": our seconds over theirs, at most the limit; "speed": theirs over ours, at
             least the limit; "beyond": ours minus theirs, in seconds, at most the limit;
             "seconds": our own, at most the limit
    against  the entry that it is held against
    """

    words: Phrase
    cases: str
    kind: Kind
    limit: float
    against: str = ""
    entries: tuple[str, ...] = ("posenc*",)

    def judge(self, result: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
        """The verdict on each entry of a measured case that this claim is about."""
        if not fnmatchcase(result["name"], self.cases):
            return
        rows = result["rows"]
        theirs = rows.get(self.against)
        if self.against and theirs is None:
            return
        for name, row in rows.items():
            if row["ours"] and name != self.against and self._is_about(name):
                measured = self._measure(row["seconds"], theirs["seconds"] if theirs else 0.0)
                yield {
                    "claim": str(self.words),
                    "case": result["name"],
                    "entry": name,
                    "against": self.against,
                    "kind": self.kind,
                    "limit": self.limit,
                    "measured": measured,
                    "met": self.is_met(measured),
                    "steady": row["steady"] and (theirs is None or theirs["steady"]),
                }

    def _is_about(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.entries)

    def _measure(self, ours: float, theirs: float) -> float:
        match self.kind:
            case "time":
                return ours / theirs
            case "speed":
                return theirs / ours
            case "beyond":
                return ours - theirs
            case "seconds":
                return ours

    def is_met(self, measured: float) -> bool:
        """Whether a number keeps to the limit."""
        return measured >= self.limit if self.kind == "speed" else measured <= self.limit


def _claims() -> Iterable[Claim]:
    for dtype, most, least in (("float32", 1.1, 3.5), ("bfloat16", 1.4, 4.0)):
        words = phrase("rotating queries and keys, {dtype}: time relative to `clone`", dtype=dtype)
        yield Claim(words, f"prefill-{dtype}-*", "time", most, "clone")
        words = phrase(
            "rotating queries and keys, {dtype}: speed relative to Hugging Face's code", dtype=dtype
        )
        yield Claim(words, f"prefill-{dtype}-*", "speed", least, "HF apply")
    words = phrase("rotating queries and keys: speed relative to Hugging Face's code, compiled")
    yield Claim(words, "prefill-*", "speed", 2.0, "HF compiled")
    words = phrase("rotating queries and keys in place: time relative to `copy_`")
    yield Claim(words, "in-place-*", "time", 1.1, "copy_")
    words = phrase("rotating one token of 32 heads: time relative to `clone`")
    yield Claim(words, "decode-*", "time", 4.0, "clone")
    words = phrase("rotating one token of 32 heads: speed relative to Hugging Face's code")
    yield Claim(words, "decode-*", "speed", 2.0, "HF apply")
    words = phrase(
        "rotating one token of 32 heads: speed relative to Hugging Face's code and its table"
    )
    yield Claim(words, "decode-*", "speed", 4.0, "HF apply and table")
    words = phrase("rotating forward and backward: time relative to cloning what is written")
    yield Claim(words, "train-*", "time", 1.4, "clone")
    words = phrase("rotating forward and backward: speed relative to Hugging Face's code")
    yield Claim(words, "train-*", "speed", 3.5, "HF apply")
    words = phrase("rotating at position 10,000,000: time relative to position 0")
    yield Claim(words, "far-*", "time", 1.2, "posenc, from 0")
    for size, cases, most in (
        ("8 x 512 x 512", "add-[0-9]*", 1.3),
        ("1 x 1 x 512", "add-token", 4),
    ):
        words = phrase("`AddPositions`, {size}: time relative to `x + table`", size=size)
        yield Claim(words, cases, "time", most, "x + table")
    sine = "sin(position * frequency)"
    words = phrase("65,536 x 512 table: time relative to `sin(position * frequency)` in PyTorch")
    yield Claim(words, "table-65536", "time", 1 / 3, sine)
    words = phrase("`attend` on 8 x 8 x 512 x 64: time relative to attention without encoding")
    yield Claim(words, "attend-batch", "time", 1.1, PLAIN)
    words = phrase("`attend` with ALiBi, 4,096 tokens: time relative to attention without encoding")
    yield Claim(words, "attend-4096", "time", 1.25, PLAIN, ("posenc, ALiBi",))
    words = phrase("`attend` with T5's bias, 4,096 tokens: speed relative to a dense bias")
    yield Claim(words, "attend-4096", "speed", 1.5, "T5, a mask, building it", ("posenc, T5",))
    words = phrase("`attend` for one query on 1,000 keys: time beyond attention without encoding")
    yield Claim(words, "attend-overhead", "beyond", 50e-6, PLAIN)
    words = phrase(
        "`attend` with 4,096 keys in a cache: time relative to attention without encoding"
    )
    yield Claim(words, "cache-4096", "time", 1.15, PLAIN)
    kinds = ((("RoPE", "ALiBi", "NoPE"), 1.05, 1.15), (("T5", "FIRE"), 1.3, 1.3))
    for names, step, token in (*kinds, (("Transformer-XL",), 1.6, 2.0)):
        said = ", ".join(names)
        training = phrase(
            "a GPT with {encodings}, a training step: time relative to hand-written RoPE",
            encodings=said,
        )
        writing = phrase(
            "a GPT with {encodings}, a generated token: time relative to hand-written RoPE",
            encodings=said,
        )
        ours = tuple(f"posenc, {name}" for name in names)
        yield Claim(training, "gpt-train", "time", step, HAND, ours)
        yield Claim(writing, "gpt-token", "time", token, HAND, ours)
    words = phrase("a training step of the lab with RoPE: time relative to hand-written attention")
    yield Claim(words, "lab-train", "time", 1.1, HAND)
    words = phrase("converting a checkpoint to the other pairing: time relative to copying it")
    yield Claim(words, "convert-*", "time", 2.0, COPY)
    words = phrase("`import posenc.torch` after `import torch`")
    yield Claim(words, "import", "seconds", 50e-3, entries=(IMPORT,))
    words = phrase("making an encoding, the slowest of all")
    yield Claim(words, "import", "seconds", 5e-3, entries=(SLOWEST,))


def _swap_claims() -> Iterable[Claim]:
    for names, limit in ((("RoPE", "NoPE"), 1.0), (("ALiBi", "T5"), 1.05)):
        words = phrase(
            "a Llama with {encodings} swapped in, a generated token: time relative to the model as "
            "it was",
            encodings=", ".join(names),
        )
        ours = tuple(f"posenc, {each}" for each in names)
        yield Claim(words, "swap-token", "time", limit, OWN, ours)


CLAIMS = (*_claims(), *_swap_claims())


def judge(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The verdict of every claim on what was measured."""
    return [verdict for claim in CLAIMS for result in results for verdict in claim.judge(result)]


def compute_growth(results: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """How the time of each entry grows with the size: seconds ~ size^power, by family of cases."""
    growth = dict[str, dict[str, Any]]()
    families = dict[str, list[Mapping[str, Any]]]()
    for result in results:
        if result["size"]:
            families.setdefault(result["family"], []).append(result)
    for family, members in families.items():
        members.sort(key=lambda result: result["size"])
        if len(members) < 2:
            continue
        shared = [name for name in members[0]["rows"] if all(name in m["rows"] for m in members)]
        sizes = [member["size"] for member in members]
        growth[family] = {
            name: {
                "sizes": sizes,
                "seconds": (seconds := [member["rows"][name]["seconds"] for member in members]),
                "power": math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0]),
            }
            for name in shared
        }
    return growth
