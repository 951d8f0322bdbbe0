"""Requests that no proper client sends, drawn at random: bytes, expressions, headers, bodies."""

import json
import random
from dataclasses import dataclass
from re import fullmatch
from urllib.parse import quote_from_bytes

from posenc.explorer.endpoints import ENDPOINTS
from tests.explorer.asking import HOST

PATHS = [
    "/", "/api/v1/encodings", "/api/v1/tokens", "/api/v1/view/heatmap", "/api/v1/view/waves",
    "/api/v1/view/similarity", "/api/v1/view/bias", "/api/v1/view/attention", "/api/v1/view/sum",
    "/api/v1/view/wavelengths", "/api/v1/view/rotation", "/api/v1/view/scalings",
    "/api/v1/view/products",
    "/api/v1/view/maps", "/api/v1/view/learned", "/api/v1/view/heatmap.npy", "/api/v1/cell",
    "/api/v1/explain", "/api/v1/messages", "/api/v1/colours", "/api/v1/spell", "/api/v1/config",
    "/api/v1/export/csv", "/api/v1/export/npy", "/api/v1/export/py", "/api/v1/openapi.json",
    "/assets/x.js",
]  # fmt: skip
METHODS = ["GET"] * 12 + ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "get", "\x00", "CONNECT"]
NAMES = [
    "text", "by", "e", "n", "seed", "lang", "p", "d", "rows", "columns", "panel", "top", "left",
    "height", "width", "theme", "view", "set.dim", "set.base", "set.scaling", "set.",
    "set.__class__",
]  # fmt: skip
RIGHT = {
    "text": b"a dog", "by": b"words", "lang": b"ja", "theme": b"dark", "view": b"heatmap",
    "causal": b"yes",
}  # fmt: skip
"""Values that are accepted, so that those beside them count; of other names a small number is."""
KINDS = [
    "RoPE", "Sinusoidal", "Learned", "ALiBi", "T5Bias", "ClippedBias", "FIRE", "Shaw", "NoPE",
    "TransformerXL", "AxialRoPE.split", "AxialRoPE.mrope", "AxialRoPE", "AxialSinusoidal.mae",
    "Tempered", "YaRN", "LongRoPE", "PerPair", "Llama3", "NTK", "DynamicNTK", "XPos", "SwinBias",
    "SwinV2Bias", "FourierFeatures", "LearnedFourier", "KERPLE", "Sandwich", "TwoSidedALiBi",
    "Interpolation", "Proportional", "LogN", "SSMax", "MinistralTemperature", "About", "Plain",
    "Llama4Temperature", "ALiBi.falcon", "RoPE.__init__", "RoPE.__class__", "print", "exec",
]  # fmt: skip
WORDS = [
    "dim", "base", "scaling", "rotary_dim", "pairing", "heads", "length", "reach", "std", "axes",
    "window", "hidden", "features", "sections", "factor", "original_length", "encoding", "self",
    "temperature", "buckets", "max_distance", "order", "layout", "spacing", "sigma", "gamma",
    "short_factor", "long_factor", "kernel", "eps", "centre", "scale_base", "__class__", "cls",
    "attention_factor", "share", "beta_fast", "frequencies", "axis_of_pair", "_frequencies",
]  # fmt: skip
ATOMS = [
    "0", "1", "2", "3", "8", "16", "64", "-1", "-64", "7.5", "1e3", "1e308", "1e309", "-1e400",
    "1e-320", "0.0", "-0.0", "nan", "inf", "float('nan')", "10**9", "1000000000", "9" * 400,
    "0x" + "f" * 300, "True", "False", "None", "...", "''", "'halves'", "'interleaved'", "'log'",
    "'\\ud800'", "'\\x00'", "b'x'", "1j", "1+2j", "()", "[]", "{}", "{1}", "(1,)", "(1.0, 2.0)",
    "(16, 24, 24)", "(1,)*10**9", "[1]*9", "lambda: 1", "f'{1}'", "f'{__import__(\"os\")}'",
    "__import__('os')", "x", "RoPE", "(7, 7)", "(32, 32)", "(0, 0)", "('a', 'b')", "((1,), 2)",
    "1 if 1 else 2", "[x for x in (1,)]", "*(1,)", "not 1", "1 < 2", "x := 1", "yield", "await x",
    "🐕", "６４", "1_000", "'''x", "\\", "#", "\n8", "\t8", "8;8", "import os", "type(8)",
]  # fmt: skip
CONFIG_KEYS = [
    "model_type", "hidden_size", "num_attention_heads", "num_hidden_layers", "rope_theta",
    "rope_scaling", "rope_parameters", "max_position_embeddings", "head_dim", "text_config",
    "layer_types", "no_rope_layers", "partial_rotary_factor", "mrope_section", "vision_config",
    "window_size", "depths", "num_heads", "d_model", "rope_type", "factor", "short_factor",
    "position_embedding_type", "n_embd", "n_head", "n_layer", "alibi", "type", "long_factor",
    "original_max_position_embeddings", "relative_attention_num_buckets", "pretrained_window_sizes",
]  # fmt: skip
CONFIG_ATOMS = [
    None, True, False, 0, 1, 2, 4, 64, 256, -1, 1.5, 1e308, float("nan"), float("inf"), 10**9,
    10**30, "", "llama", "gpt2", "t5", "bloom", "swin", "swinv2", "falcon", "mpt", "qwen2_vl",
    "phi3", "whisper", "gemma3", "yarn", "longrope", "llama3", "default", "dynamic", "linear",
    "\ud800", "rotary", "absolute", [], {}, [1], [1, 2], [0] * 50, ["full_attention"] * 4,
]  # fmt: skip


@dataclass(frozen=True)
class Malformed:
    method: str
    path: bytes
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


def drawn(rng: random.Random) -> Malformed:
    path = rng.choice(PATHS)
    method = rng.choice(METHODS)
    body = b""
    if rng.random() < 0.15:
        path, method, body = "/api/v1/config", "POST", _body(rng)
    raw = path.encode()
    if rng.random() < 0.1:
        at = rng.randrange(len(raw) + 1)
        junk = rng.choice([_bytes(rng, 8), b"%2e%2e/", b"../", b"%00", b"%ff", b"//", b"a" * 3000])
        raw = raw[:at] + junk + raw[at:]
    return Malformed(method, raw, _query(rng, path), _headers(rng), body)


def expression(rng: random.Random, depth: int = 0) -> str:
    """Something like an encoding, seldom one."""
    dice = rng.random()
    if dice < 0.03:
        return rng.choice([
            "RoPE(" * 300 + "8" + ")" * 300,
            "Tempered(" * 90 + "NoPE()" + ", LogN(512))" * 90,
            "(" * 900 + "8" + ")" * 900,
            "[" * 900,
            "-" * 1900 + "1",
            "RoPE(8)" + ".x" * 900,
            "PerPair((" + "1.0, " * 390 + "))",
            "RoPE(64, scaling=PerPair((" + "1.0, " * 32 + ")))",
            "LongRoPE((" + "1," * 300 + "),(" + "1," * 300 + "), 8)",
            "RoPE(" + "8, " * 600 + ")",
            "RoPE(" + ", ".join(f"a{i}=1" for i in range(250)) + ")",
            "1" + "+1" * 900,
            "x" * 1999,
            "'" + "\\u0000" * 300 + "'",
        ])  # fmt: skip
    if dice < 0.08:
        return _bytes(rng, 40).decode("latin-1")
    if dice < 0.25 or depth > 3:
        return rng.choice(ATOMS)
    given = [expression(rng, depth + 1) if rng.random() < 0.2 else rng.choice(ATOMS)
             for _ in range(rng.randrange(4))]  # fmt: skip
    if rng.random() < 0.6:  # often right so far
        given[:1] = [rng.choice(["8", "16", "64"])]
    for _ in range(rng.randrange(3)):
        value = expression(rng, depth + 1) if rng.random() < 0.3 else rng.choice(ATOMS)
        given.append(f"{rng.choice(WORDS)}={value}")
    return f"{rng.choice(KINDS)}({', '.join(given)})"


def _bytes(rng: random.Random, most: int) -> bytes:
    return rng.randbytes(rng.randrange(1, most))


def _known(path: str) -> list[str]:
    """Names of parameters that this address has; others are refused before their values count."""
    for endpoint in ENDPOINTS:
        if fullmatch(endpoint.path.replace("{kind}", r"\w+"), path):
            changes = [name for name in NAMES if name.startswith("set.")]
            return [each.name for each in endpoint.parameters] + changes * endpoint.changes
    return ["lang"]


def _query(rng: random.Random, path: str) -> bytes:
    known = _known(path)
    parts = []
    for _ in range(rng.randrange(6)):
        name = rng.choice(known if rng.random() < 0.95 else NAMES)
        if rng.random() < 0.05:
            name = _bytes(rng, 6).decode("latin-1")
        if name == "e" or (name.startswith("set.") and rng.random() < 0.5):
            value = expression(rng).encode("utf-8", "surrogatepass")
        elif rng.random() < 0.5:
            value = RIGHT.get(name, b"3")
        elif rng.random() < 0.6:
            value = rng.choice(ATOMS).encode("utf-8", "surrogatepass")
        else:
            value = rng.choice([
                _bytes(rng, 30), b"words", b"bpe", b"bytes", b"8192", b"512", b"\xed\xa0\x80",
                "犬が人を噛む 👩‍👩‍👧".encode(), b"x" * 2000, b"x" * 2001, b"9" * 25,
                b"\xe2\x80\x8b",
                "ก่".encode() * 300, "e\u0301".encode() * 500, b" ", b"\x00", b"", b"true",
            ])  # fmt: skip
        text = quote_from_bytes(value) if rng.random() < 0.9 else value.decode("latin-1")
        parts.append(f"{name}={text}")
    return "&".join(parts).encode("latin-1", "replace")


def _headers(rng: random.Random) -> tuple[tuple[bytes, bytes], ...]:
    headers = [HOST]
    if rng.random() < 0.1:
        headers = [(b"host", _bytes(rng, 20))]
    if rng.random() < 0.2:
        name = rng.choice([b"origin", b"host", b"content-type", b"content-length", b"range",
                           b"if-none-match", b"if-modified-since", b"accept", b"sec-fetch-site",
                           b"transfer-encoding", b"cookie", b"x-forwarded-host"])  # fmt: skip
        value = rng.choice(
            [_bytes(rng, 60), b"http://127.0.0.1:8765", b"-1", b"bytes=0-,5-1", b"*"]
        )
        headers.append((name, value))
    return tuple(headers)


def _body(rng: random.Random) -> bytes:
    dice = rng.random()
    if dice < 0.15:
        return _bytes(rng, 2000)
    if dice < 0.2:
        return rng.choice(
            [b"[" * 100_000, b'{"a":' * 20_000, b"9" * 10_000, b"\xff\xfe{", b"1e999"]
        )
    config = {rng.choice(CONFIG_KEYS): _config_value(rng, 0) for _ in range(rng.randrange(10))}
    if rng.random() < 0.8:
        config |= {"model_type": rng.choice(["llama", "gpt2", "t5", "bloom", "swin", "qwen2_vl",
                                             "phi3", "whisper", "gemma3", "falcon", "mpt",
                                             "deepseek_v3", "esm", "bert", "opt"])}  # fmt: skip
    return json.dumps(config).encode()


def _config_value(rng: random.Random, depth: int) -> object:
    if depth < 3 and rng.random() < 0.2:
        keys = rng.sample(CONFIG_KEYS, rng.randrange(5))
        return {key: _config_value(rng, depth + 1) for key in keys}
    return rng.choice(CONFIG_ATOMS)
