"""What the commands that time encodings share."""

import os

from posenc.cli import timing


def test_blas_has_one_thread_unless_it_was_told_otherwise(monkeypatch):
    for name in timing.THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    timing.use_one_thread()
    found = {name: os.environ.get(name) for name in timing.THREADS}
    for name in timing.THREADS:
        monkeypatch.setenv(name, "")  # so that it is taken back at the end
    assert found.pop("OMP_NUM_THREADS") == "3"
    assert set(found.values()) == {"1"}


def test_a_busy_machine_is_told(capsys):
    timing.warn_if_busy({"busy": False, "load": 0.1, "cores": 2})
    assert capsys.readouterr() == ("", "")
    timing.warn_if_busy({"busy": True, "load": 3.14, "cores": 2}, err=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Unreliable timings: the load average was 3.1 on 2 cores")
