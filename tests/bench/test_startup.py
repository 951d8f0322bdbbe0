"""The benchmark of imports and constructors."""

from pathlib import Path

from posenc.bench import startup
from posenc.bench.case import Request


def test_a_fresh_process_tells_each_time():
    seconds = startup.run_fresh()
    assert list(seconds) == list(startup.build(Request()).entries)
    assert all(value > 0 for value in seconds.values())
    written = {path.name for path in Path(startup.bytecode_folder().name).rglob("*.pyc")}
    assert any(name.startswith("mechanisms.") for name in written)
