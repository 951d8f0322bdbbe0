"""Scalings of RoPE, and the oracle's frequencies and factor of each."""

import pytest

import posenc as pe
from tests.oracles import rotary as oracle

SHORT, LONG = tuple(1.0 + 0.1 * i for i in range(12)), tuple(1.0 + i for i in range(12))


DIM, BASE = 24, 10_000.0


# name: (scaling of ours, frequencies of the oracle, factor on cosines and sines)
SCALINGS = {
    "plain": (None, oracle.plain(DIM, BASE), 1),
    "interpolation": (pe.Interpolation(4.0), oracle.interpolation(DIM, BASE, 4.0), 1),
    "ntk": (pe.NTK(4.0), oracle.ntk(DIM, BASE, 4.0), 1),
    "dynamic ntk": (
        pe.DynamicNTK(2.0, 4096).at(9000),
        oracle.dynamic_ntk(DIM, BASE, 2.0, 4096, 9000),
        1,
    ),
    "dynamic ntk, short": (
        pe.DynamicNTK(2.0, 4096).at(4096),
        oracle.dynamic_ntk(DIM, BASE, 2.0, 4096, 4096),
        1,
    ),
    "yarn": (
        pe.YaRN(16.0, 4096),
        oracle.yarn(DIM, BASE, 16.0, 4096),
        oracle.yarn_attention_factor(16.0),
    ),
    "yarn, not truncated": (
        pe.YaRN(32.0, 4096, truncate=False),
        oracle.yarn(DIM, BASE, 32.0, 4096, truncate=False),
        oracle.yarn_attention_factor(32.0),
    ),
    "yarn over rotations": (
        pe.YaRN(16.0, 4096, 24.0, 2.0, ramp="rotations"),
        oracle.yarn(DIM, BASE, 16.0, 4096, 24.0, 2.0, ramp="rotations"),
        oracle.yarn_attention_factor(16.0),
    ),
    "yarn of deepseek": (
        pe.YaRN(40.0, 4096, mscale=0.707, mscale_all_dim=1.0),
        oracle.yarn(DIM, BASE, 40.0, 4096),
        oracle.yarn_attention_factor(40.0, 0.707, 1.0),
    ),
    "llama3": (pe.Llama3(8.0, 8192), oracle.llama3(DIM, BASE, 8.0, 1.0, 4.0, 8192), 1),
    "longrope, short": (
        pe.LongRoPE(SHORT, LONG, 4096, factor=32.0).at(4096),
        oracle.longrope(DIM, BASE, SHORT, LONG, 4096, 4096),
        oracle.longrope_attention_factor(32.0, 4096),
    ),
    "longrope, long": (
        pe.LongRoPE(SHORT, LONG, 4096, factor=32.0).at(4097),
        oracle.longrope(DIM, BASE, SHORT, LONG, 4096, 4097),
        oracle.longrope_attention_factor(32.0, 4096),
    ),
    "proportional": (pe.Proportional(0.25), oracle.proportional(DIM, BASE, 0.25), 1),
    "proportional, no whole number of pairs, and slower": (
        pe.Proportional(0.3, 4.0),
        oracle.proportional(DIM, BASE, 0.3, 4.0),
        1,
    ),
    "yarn whose mscale is 0": (
        pe.YaRN(40.0, 4096, mscale=0.0, mscale_all_dim=1.0),
        oracle.yarn(DIM, BASE, 40.0, 4096),
        oracle.yarn_attention_factor(40.0, 0.0, 1.0),
    ),
    "yarn with one end for both": (
        pe.YaRN(8.0, 64, 1.0, 1.0, truncate=False),
        oracle.yarn(DIM, BASE, 8.0, 64, 1.0, 1.0, truncate=False),
        oracle.yarn_attention_factor(8.0),
    ),
    "yarn past the last pair": (
        pe.YaRN(8.0, 10**6),
        oracle.yarn(DIM, BASE, 8.0, 10**6),
        oracle.yarn_attention_factor(8.0),
    ),
    "longrope of a factor below 1": (
        pe.LongRoPE(SHORT, LONG, 4096, factor=0.5).at(10),
        oracle.longrope(DIM, BASE, SHORT, LONG, 4096, 10),
        1,
    ),
}


CASES = pytest.mark.parametrize(("scaling", "w", "factor"), SCALINGS.values(), ids=list(SCALINGS))
