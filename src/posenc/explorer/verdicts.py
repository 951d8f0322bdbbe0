"""What the checks find of an encoding, in the reader's language."""

import json
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from posenc.core.mechanisms import Encoding
from posenc.explorer import checking
from posenc.explorer.answers import key_of
from posenc.explorer.asked import Asked
from posenc.explorer.once import Once
from posenc.explorer.parameters import Refused
from posenc.i18n import Translate, translator

CHECK_SECONDS = 55.0

CHECKED = Once(128, seconds=CHECK_SECONDS)
"""The last verdicts: the same value and seed have the same."""


def checked(
    asked: Asked, loaded: dict[str, Encoding], *, seconds: float = CHECK_SECONDS
) -> dict[str, Any]:
    """The verdicts on the first encoding, their words in the reader's language."""
    t, name, encoding = translator(asked.lang), asked.names[0], asked.encodings[0]

    def make() -> dict[str, Any]:
        # one of the reader's own is known in this process only
        return (
            _here(encoding, asked.seed) if name in loaded else _elsewhere(name, asked.seed, seconds)
        )

    report = CHECKED.get((key_of(encoding), asked.seed), make, seconds=seconds)
    return report | {"rows": [row | _said(row, t) for row in report["rows"]]}


def _said(row: dict[str, Any], t: Translate) -> dict[str, Any]:
    """What a row of the report says, translated; details are numbers with few words."""
    bound = row["bound"]
    side, _, number = (bound or "").rpartition(" ")
    if side == "at most":
        bound = t("at most {bound}", bound=number)
    elif side == "at least":
        bound = t("at least {bound}", bound=number)
    title = t(row["name"].replace("_", " "))
    return {"title": title, "what": t(row["what"]), "why": t(row["why"]), "bound": bound}


def _here(encoding: Encoding, seed: int) -> dict[str, Any]:
    from posenc.checks import check

    with suppress(ImportError):
        import_module("torch")  # now: a check has seconds, which importing it may take
    return check(encoding, seed=seed).to_json()


def _elsewhere(name: str, seed: int, seconds: float) -> dict[str, Any]:
    """The report by a process of its own: it takes seconds, imports PyTorch, and can be ended."""
    command = [sys.executable, "-m", "posenc.explorer.checking", name, str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise Refused("the checks take too long; ask for a smaller encoding", "e", 503) from error
    ran_out = b"Memory allocation" in done.stderr  # what OpenBLAS says before it ends us
    if done.returncode == checking.TOO_LARGE or (done.returncode and ran_out):
        raise Refused(
            "the checks take more than {most} MiB of memory; ask for a smaller encoding",
            "e",
            503,
            most=checking.MOST // 2**20,
        )
    if done.returncode != 0:
        raise Refused("the checks ended without a report", "e", 503)
    return json.loads(done.stdout)
