"""One `xp` fixture: each test of a formula is written once and runs on every array library."""

import numpy as np
import pytest

from tests.libraries import Library, libraries

JAX = "jax", "jax.jit"


@pytest.fixture(params=["numpy", "torch", *JAX, "strict"])
def xp(request: pytest.FixtureRequest) -> Library:
    return next(library for library in libraries() if library.name == request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run each case on JAX as it is written or under jit, in turn; `make test-slow` has the others.

    JAX compiles for a third of a second in either: for as long as all other libraries together.
    """
    functions: dict[str, dict[str, dict[str, pytest.Item]]] = {}
    for item in items:
        case = getattr(item, "callspec", None)
        xp = case.params.get("xp") if case else None
        if xp in JAX:
            function = functions.setdefault(item.nodeid.partition("[")[0], {})
            function.setdefault(case.id.replace("jax.jit", "jax"), {})[xp] = item
    for cases in functions.values():
        for number, case in enumerate(sorted(cases) if len(cases) > 1 else ()):
            if left := cases[case].get(JAX[number % 2]):
                left.add_marker("slow")
