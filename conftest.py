"""For every test, doctests included: the same numbers each time, an order that can be shuffled."""

import os
import tempfile
from pathlib import Path

# Before PyTorch is loaded: some virtual machines claim instructions for bfloat16 that they do not
# have, and die of them; and workers that share the cores are quicker with a thread each.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
# PyTorch keeps what it compiles without a word of ATEN_CPU_CAPABILITY: code for AVX2, kept by
# another run, is no C++ where there is less.
KEPT_CODE = f"posenc-{Path.home().name}-{os.environ.get('ATEN_CPU_CAPABILITY', 'best')}"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(tempfile.gettempdir()) / KEPT_CODE))

import ctypes
import gc
import random
import re
import sys
from collections import Counter

import numpy as np
import pytest

try:
    import resource
except ModuleNotFoundError:  # Windows
    resource = None

try:
    import torch  # here, for it draws a seed of its own when a test is the first to load it
except ModuleNotFoundError:
    torch = None

try:
    import hypothesis
except ModuleNotFoundError:  # .venv-peers has none
    pass
else:
    from hypothesis.internal.conjecture import providers

    # Hypothesis tries constants of the modules that happen to be loaded: a test would draw other
    # examples alone than after others. tests/test_determinism.py holds that it does not.
    providers._get_local_constants = providers.Constants

    # Whether an example is slow depends on what else the machine does.
    common = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
    hypothesis.settings.register_profile("test", derandomize=True, database=None, **common)
    hypothesis.settings.register_profile(
        "fuzz", derandomize=False, database=None, print_blob=True, **common
    )
    hypothesis.settings.load_profile("test")

collect_ignore_glob = ["src/posenc/kernels/triton_*.py", "tests/types.py"]
"""Files to be read, not run: Triton is not installed by `make venv`; the other is for pyright."""

MOST_MB = 2_000
"""The memory that a worker may have: two of them and a browser fit into a small machine."""

MUCH_MB = 1_000
"""From here on a worker gives back what it can, after each test that adds GROWTH_MB."""

GROWTH_MB = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle",
        type=int,
        default=0,
        metavar="SEED",
        help="shuffle the order of the tests; 0 (the default) keeps it as written",
    )


def pytest_report_header(config: pytest.Config) -> str:
    seed = config.getoption("--shuffle")
    return f"order: {f'shuffled, SEED={seed}' if seed else 'as written'}"


def shuffled(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """Folders, the files in each and the tests in each file, each in another order.

    What shares a server or a browser stays together, and every worker makes the same order.
    """
    rng = random.Random(seed)
    folders: dict[Path, dict[Path, list[pytest.Item]]] = {}
    for item in items:
        folders.setdefault(item.path.parent, {}).setdefault(item.path, []).append(item)

    def mixed(values):
        values = list(values)
        rng.shuffle(values)
        return values

    return [
        item
        for files in mixed(folders.values())
        for tests in mixed(files.values())
        for item in mixed(tests)
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if seed := config.getoption("--shuffle"):
        items[:] = shuffled(items, seed)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Ten thousand tests and all that they import live to the end: no collection looks at them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def fuzz_seed(request: pytest.FixtureRequest) -> int:
    """0, or another in every round of `make fuzz`."""
    return int(request.config.getoption("--hypothesis-seed", None) or 0)


class LeftOut:
    """Says at the very end which tests were left out for want of something; in CI that fails."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup" and (reason := dict(report.user_properties).get("left_out")):
            self.counts[reason] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.counts and os.environ.get("CI") == "true":
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        for reason, count in self.counts.items():
            print(f"LEFT OUT: {count} {reason}")


def used() -> tuple[float, float]:
    """The most memory that this process had, in MB; its and its children's time in seconds."""
    if resource is None:
        return 0.0, 0.0
    me, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    seconds = sum(each.ru_utime + each.ru_stime for each in (me, children))
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss starts with the peak of the process that started this
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        if found:
            return int(found[1]) * 1024 / 1e6, seconds
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there
    return me.ru_maxrss * unit / 1e6, seconds


class Used:
    """Says what each worker took; more memory than MOST_MB fails where `make prove` asks for it."""

    def __init__(self) -> None:
        self.workers: dict[str, tuple[float, float]] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        if "used" in getattr(node, "workeroutput", {}):
            self.workers[node.gateway.id] = tuple(node.workeroutput["used"])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        over = any(peak > MOST_MB for peak, _ in self.workers.values())
        if over and os.environ.get("POSENC_BOUND_MEMORY"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self.workers = self.workers or {"main": used()}

    def pytest_unconfigure(self) -> None:
        for name, (peak, seconds) in sorted(self.workers.items()):
            over = (
                f", more than the {MOST_MB:,} MB that a worker may have" if peak > MOST_MB else ""
            )
            print(f"{name}: at most {peak:,.0f} MB, {seconds:,.0f} s of the processor{over}")


def resident() -> float:
    """The memory that this process has now, in MB, where the system tells."""
    pages = Path("/proc/self/statm")
    return (
        int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        if pages.exists()
        else 0.0
    )


KEPT = [0.0]
"""The memory that was left when it was last given back, in MB."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """JAX keeps all that it has compiled, and the allocator what was freed: give it back."""
    if resident() > max(MUCH_MB, KEPT[0] + GROWTH_MB):
        if jax := sys.modules.get("jax"):
            jax.clear_caches()
        gc.collect()
        if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
            libc.malloc_trim(0)
        KEPT[0] = resident()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["used"] = used()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # no worker sees every report
        config.pluginmanager.register(
            LeftOut()
        )  # the last to be unconfigured, so the last to speak
        config.pluginmanager.register(Used())


@pytest.hookimpl(tryfirst=True)  # before the fixtures, those of a module too
def pytest_runtest_setup(item: pytest.Item) -> None:
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    if torch is not None:
        torch.manual_seed(0)
