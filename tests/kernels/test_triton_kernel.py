"""The kernel compiled: to operations that all round correctly."""

import importlib
import json

import pytest

from tests.kernels.test_triton_rotation import needs_triton, run


@needs_triton
@pytest.mark.parametrize("capability", [75, 80, 90])
def test_it_compiles_to_operations_that_round_correctly(capability, tmp_path):
    """For GPUs that need not be here; what they compute is then what the interpreter does."""
    code = "from tests.kernels.test_triton_kernel import instructions; "
    code += f"print(instructions({capability}))"
    found = json.loads(run(code, TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path)))
    assert {"mul.rn.f64", "mul.rn.f32", "sub.rn.f32"} <= {*found}
    exact = ("abs", "cvt", "ld", "max", "min", "mov", "neg", "selp", "setp", "st")
    for name in found:
        assert name.split(".")[0] in exact or ".rn." in name, name
        assert not {"fma", "approx", "full", "ftz"} & {*name.split(".")}, name


def instructions(capability):
    """The floating-point instructions of the kernel, compiled for every dtype and both pairings."""
    import re

    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    rotation = importlib.import_module("posenc.kernels.triton_rotation")
    kernel = rotation.triton_kernel.rotate_block
    found = set()
    for element in ("fp64", "fp32", "bf16", "fp16"):
        for number, many in (("i64", False), ("i32", True), ("fp64", True), ("fp32", False)):
            types = {"x": f"*{element}", "out": f"*{element}", "positions": f"*{number}"}
            types |= {"frequencies": "*fp64", "axis": "*i64" if many else "constexpr"}
            for parameter in kernel.params:
                kind = "constexpr" if parameter.is_constexpr else parameter.annotation_type or "i32"
                types.setdefault(parameter.name, kind)
            fixed = {"wide": element == "fp64", "halves": many, "back": many}
            fixed |= {"block": 8, "most_pairs": 64, "most_heads": 8} | (
                {} if many else {"axis": None}
            )
            ordered = {parameter.name: types[parameter.name] for parameter in kernel.params}
            made = triton.compile(
                ASTSource(kernel, ordered, fixed),
                target=GPUTarget("cuda", capability, 32),
                options=rotation.OPTIONS,
            )
            assert made.asm["cubin"]
            found |= {
                *re.findall(r"\b[a-z]+\.[a-z0-9.]*f(?:16|32|64)\b[a-z0-9.]*", made.asm["ptx"])
            }
    return json.dumps(sorted(found))
