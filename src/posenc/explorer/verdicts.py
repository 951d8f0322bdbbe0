"""Check reports of an encoding, in the language of the request."""

import json
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from posenc.core.encoding import Encoding
from posenc.explorer import check_process
from posenc.explorer.answers import cache_key
from posenc.explorer.cache import SharedCache
from posenc.explorer.parameters import RequestError
from posenc.explorer.requests import ViewRequest
from posenc.i18n import N_, Translate

CHECK_SECONDS = 55.0

REPORTS = SharedCache(128, seconds=CHECK_SECONDS)
"""The last reports: an encoding and a seed determine one."""


def check_encoding(request: ViewRequest, *, seconds: float = CHECK_SECONDS) -> dict[str, Any]:
    """The check report of the first encoding."""
    name, encoding = request.names[0], request.encodings[0]

    def compute() -> dict[str, Any]:
        if name in request.loaded:  # the user's own encoding is known in this process only
            return _check_here(encoding, request.seed)
        return _check_in_process(name, request.seed, seconds)

    report = REPORTS.get((cache_key(encoding), request.seed), compute, seconds=seconds)
    return report | {"rows": [row | _translate_row(row, request.t) for row in report["rows"]]}


def _translate_row(row: dict[str, Any], t: Translate) -> dict[str, Any]:
    """The words of a row of the report; its detail is numbers with few words, and stays."""
    bound, title = row["bound"], t(row["name"].replace("_", " "))
    side, _, number = (bound or "").rpartition(" ")
    templates = {"at most": N_("at most {bound}"), "at least": N_("at least {bound}")}
    bound = t(templates[side], bound=number) if side in templates else bound
    return {"title": title, "what": t(row["what"]), "why": t(row["why"]), "bound": bound}


def _check_here(encoding: Encoding, seed: int) -> dict[str, object]:
    from posenc.checks import check

    with suppress(ImportError):
        import_module("torch")  # now: importing it may take the seconds that a check has
    return check(encoding, seed=seed).to_json()


def _check_in_process(name: str, seed: int, seconds: float) -> dict[str, object]:
    """The report of a separate process: it takes seconds, imports PyTorch, and can be killed."""
    command = [sys.executable, "-m", "posenc.explorer.check_process", name, str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise RequestError(
            "the checks take too long; ask for a smaller encoding", "e", 503
        ) from error
    ran_out = b"Memory allocation" in done.stderr  # what OpenBLAS prints before it exits
    if done.returncode == check_process.TOO_LARGE or (done.returncode and ran_out):
        raise RequestError(
            "the checks take more than {most} MiB of memory; ask for a smaller encoding",
            "e",
            503,
            most=check_process.MOST // 2**20,
        )
    if done.returncode != 0:
        raise RequestError("the checks ended without a report", "e", 503)
    return json.loads(done.stdout)
