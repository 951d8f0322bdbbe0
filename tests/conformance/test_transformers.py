"""Every rotary module of the installed transformers against ours; `make conformance` runs it."""

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("transformers", reason="transformers is not installed: make conformance")

from tests.conformance import cases, compare, conventions, faults, page, walk
from tests.conformance.verdicts import VERDICTS

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]

LLAMA = next(model for model in walk.models() if model.folder == "llama")
ROWS = compare.rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.folder}-{row.rotary}-{row.config}")
def test_matches_or_is_explained(row: compare.Row) -> None:
    assert row.verdict != "unexplained", row


def test_95_percent_of_the_architectures_match() -> None:
    verdicts = list(page.architectures().values())
    assert verdicts.count("matched") / len(verdicts) >= 0.95


def test_an_explanation_has_something_to_explain() -> None:
    assert set(VERDICTS) == {(row.folder, row.rotary) for row in ROWS if not row.matched}


def test_is_within_the_bound_as_shipped_up_to_128() -> None:
    for row in ROWS:
        if row.matched:
            assert row.as_shipped is not None
            assert max(row.as_shipped.near) <= compare.BOUND, row


def test_the_walk_finds_models_and_leaves_out_those_with_leftovers_only() -> None:
    folders = {model.folder for model in walk.models() if model.rotates}
    assert {"llama", "gptj", "qwen2_vl", "vjepa2"} <= folders
    assert "bert" not in folders
    assert "jamba" not in folders  # has the function and never calls it
    assert len(folders) > 150


def test_from_config_reads_what_was_compared_or_refuses() -> None:
    read = {row.model_type: row.reader for row in ROWS if row.reader}
    assert [name for name, what in read.items() if not what.startswith("refuses")] == []


def test_the_page_says_what_the_walk_found() -> None:
    written = page.PAGE.read_text(encoding="utf-8")
    assert page.counts() in written
    for row in ROWS:
        assert f"| {row.folder} | " in written


YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 256}
LONG = {"rope_type": "longrope", "short_factor": [1.0] * 16, "long_factor": [1.5] * 16}
SCALINGS: tuple[dict[str, Any], ...] = (
    {"rope_type": "linear", "factor": 4.0},
    {"rope_type": "dynamic", "factor": 2.0},
    YARN,
    YARN | {"truncate": False},
    YARN | {"beta_fast": 16.0, "beta_slow": 2.0, "attention_factor": 1.25},
    YARN | {"mscale": 1.0, "mscale_all_dim": 0.5},
    {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 256,
    },
    LONG | {"original_max_position_embeddings": 256, "factor": 8.0},
    LONG | {"original_max_position_embeddings": 4096, "factor": 8.0},
    {"rope_type": "proportional", "partial_rotary_factor": 0.25},
)


def llama_config(**rope: Any) -> Any:
    from transformers import LlamaConfig

    parameters = {"rope_type": "default", "rope_theta": 10_000.0} | rope
    return LlamaConfig(head_dim=32, max_position_embeddings=1024, rope_parameters=parameters)


@pytest.mark.parametrize("rope", SCALINGS, ids=str)
def test_every_scaling_of_theirs_matches(rope: dict[str, Any]) -> None:
    row = compare.row(LLAMA, "LlamaRotaryEmbedding", llama_config(**rope), cases.PLAIN)
    assert row.matched, row
    assert row.reader == "", row.reader


def mutant(**changes: Any) -> cases.Known:
    """A reading that is wrong in one thing."""

    def read(config: Any, layer_type: str | None) -> Any:
        return replace(cases.PLAIN.read(config, layer_type), **changes)

    return replace(cases.PLAIN, read=read)


@pytest.mark.parametrize(
    "known",
    [
        mutant(base=10_000.1),
        mutant(rotary_dim=16),
        replace(mutant(pairing="interleaved"), by_folder=False),
    ],
    ids=["base", "width", "pairing"],
)
def test_the_comparison_can_say_no(known: cases.Known) -> None:
    row = compare.row(LLAMA, "LlamaRotaryEmbedding", llama_config(), known)
    assert not row.matched
    assert row.verdict == "unexplained"


def test_a_module_that_mixes_axes_and_is_not_known_is_unexplained() -> None:
    model = next(model for model in walk.models() if model.folder == "qwen2_vl")
    config = next(walk.configs(model, "Qwen2VLRotaryEmbedding"))
    row = compare.row(model, "Qwen2VLRotaryEmbedding", config, cases.PLAIN)
    assert row.verdict == "unexplained"
    assert "mixes several axes" in row.reason


def test_the_named_conventions_are_what_they_are_said_to_be() -> None:
    assert conventions.lightglue_gap() <= 1e-12
    assert conventions.musicflamingo_gap() <= 1e-9


def test_faults_are_still_there() -> None:
    """When one of these fails, they have mended it: take it off the page."""
    theirs, ours = faults.long_positions()[1_000_000]
    assert theirs > 1e-2
    assert ours < 1e-7
    assert faults.halves()[2047] > 0.5
    asked, _, given = faults.nested_truncate()
    assert asked > 0.1
    assert given < 1e-6
    asked, kept = faults.phimoe_long()
    assert asked > 1
    assert kept < 1e-6
    assert faults.minimax_rotary_dim() == (64, 128)
    for shortest, longest, low, high in (faults.vjepa2(), faults.hunyuan_vl()):
        assert longest - shortest > 0.05
        assert high - low > 0.05
