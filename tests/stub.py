"""src/posenc/__init__.pyi, for type checkers, out of the public names: `python -m tests.stub`."""

from pathlib import Path

import posenc as pe

STUB = Path(pe.__file__).with_suffix(".pyi")


def build_stub() -> str:
    """The text of the stub: each public name imported from its module."""
    imports = [("posenc", name) for name in pe._MODULES]
    imports += [(f"posenc.{module}", name) for name, module in pe._HOMES.items()]
    imports.sort(key=lambda pair: (pair[0], _rank(pair[1])))
    return "\n".join(
        [
            "# made by `make stub` out of the public names; do not edit",
            "",
            *(f"from {module} import {name} as {name}" for module, name in imports),
            "",
            "__version__: str",
            "__all__ = [",
            *(f'    "{name}",' for name in sorted(pe.__all__, key=_rank)),
            "]\n",
        ]
    )


def _rank(name: str) -> tuple[bool, bool, str]:
    """The order that ruff asks for: constants, then classes, then functions."""
    return not name.isupper(), name[0].islower(), name


if __name__ == "__main__":
    STUB.write_text(build_stub())
