"""`posenc.jax.attend` against float64 attention written out, and in blocks against itself."""

import math
import re
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posenc as pe
from posenc.jax import attend, attention
from tests.oracles import attention as oracle
from tests.slow import seldom
from tests.torch.attention import test_options as options

OPTIONS = options.OPTIONS
ENCODINGS = options.encodings()
KEY = jax.random.key(3)
SEED = int(jax.random.bits(KEY, dtype=jnp.uint32))


def arrays(dtype="float32"):
    return [jnp.asarray(x.float().numpy(), dtype=dtype) for x in options.random()]


def given(option, params):
    """Options and parameters as `attend` takes them."""
    made = {
        name: jnp.asarray(x, dtype=None if x.dtype == bool else "float32")
        if isinstance(x, np.ndarray)
        else x
        for name, x in option.items()
    }
    if "dropout" in option:
        made["dropout_key"] = KEY
    learned = {name: jnp.asarray(x, dtype="float32") for name, x in (params or {}).items()}
    return made | {"params": learned or None, "causal": True}


def set_pace(pace, monkeypatch):
    """How long texts go, in blocks, or at once."""
    if pace == "in blocks":
        monkeypatch.setattr(attention, "FEW_PAIRS", 0)
        monkeypatch.setattr(attention, "ROWS", 4)


CASES = [*product(ENCODINGS, OPTIONS, ["float32", "bfloat16"], ["at once", "in blocks"])]
OFTEN = [
    ("alibi", "all", "float32", "at once"),
    ("rope", "all", "bfloat16", "in blocks"),
    ("transformer-xl", "sinks, nothing seen", "float32", "in blocks"),
]


@pytest.mark.parametrize(("name", "option", "dtype", "pace"), seldom(CASES, but=OFTEN))
def test_every_option_equals_attention_written_out(name, option, dtype, pace, monkeypatch):
    set_pace(pace, monkeypatch)
    monkeypatch.setattr(options, "SEED", SEED)
    encoding, params = ENCODINGS[name]
    q, k, v = arrays(dtype)
    wide = [np.asarray(x, dtype=np.float64) for x in (q, k, v)]
    truth, total, of_out, of_total = options.truth_and_bounds(name, *wide, OPTIONS[option], dtype)
    more = given(OPTIONS[option], params)
    made = jax.jit(lambda q, k, v: attend(q, k, v, encoding=encoding, **more))(q, k, v)
    out, lse = made if isinstance(made, tuple) else (made, None)
    assert out.dtype == q.dtype
    assert (np.abs(np.asarray(out, dtype=np.float64) - truth) / of_out).max() <= 1
    if lse is not None:
        blind = np.isinf(total)
        assert np.array_equal(np.asarray(lse) == -np.inf, blind)
        assert (np.abs(np.asarray(lse) - total)[~blind] / of_total[~blind]).max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODINGS)
def test_jit_vmap_and_layouts_give_the_same(name):
    encoding, params = ENCODINGS[name]
    more = given({"softcap": 1.5}, params)
    q, k, v = arrays()
    run = lambda q, k, v: attend(q, k, v, encoding=encoding, **more)  # noqa: E731
    plain = run(q, k, v)
    assert jnp.allclose(jax.jit(run)(q, k, v), plain, atol=1e-5)
    mapped = jax.vmap(lambda *one: run(*(x[None] for x in one))[0])(q, k, v)
    assert jnp.allclose(mapped, plain, atol=1e-5)
    swapped = [jnp.swapaxes(x, 1, 2) for x in (q, k, v)]
    out = attend(*swapped, encoding=encoding, layout="bshd", **more)
    assert jnp.array_equal(jnp.swapaxes(out, 1, 2), plain)


def test_gradients_are_those_of_the_oracle_and_the_same_in_blocks(monkeypatch):
    """By differences of the oracle in float64, of 40 entries each of q, k, v and sinks."""
    q, k, v = arrays()
    sinks = jnp.asarray(options.SINKS, dtype="float32")
    cotangent = np.random.default_rng(2).normal(size=q.shape)

    def ours(q, k, v, sinks):
        made = attend(q, k, v, encoding=pe.NoPE(), causal=True, softcap=1.5, sinks=sinks)
        return (made * cotangent).sum()

    def truth(q, k, v, sinks):
        products = np.einsum("bhid,bhjd->bhij", q, oracle.repeat_heads(k, 4)) / 8**0.5
        values = oracle.repeat_heads(v, 4)
        out, _ = oracle.attention(products, values, options.SEEN, softcap=1.5, sinks=sinks)
        return (out * cotangent).sum()

    inputs = [np.asarray(x, dtype=np.float64) for x in (q, k, v, sinks)]
    at_once = jax.jit(jax.grad(ours, argnums=(0, 1, 2, 3)))(q, k, v, sinks)
    monkeypatch.setattr(attention, "FEW_PAIRS", 0)
    monkeypatch.setattr(attention, "ROWS", 4)
    jax.clear_caches()  # which know nothing of blocks
    in_blocks = jax.jit(jax.grad(ours, argnums=(0, 1, 2, 3)))(q, k, v, sinks)
    rng = np.random.default_rng(0)
    for number, (one, other) in enumerate(zip(at_once, in_blocks, strict=True)):
        assert jnp.allclose(one, other, atol=1e-5)
        for flat in rng.integers(0, one.size, 4):
            at, sides = np.unravel_index(flat, one.shape), []
            for step in (1e-5, -1e-5):
                moved = [x.copy() for x in inputs]
                moved[number][at] += step
                sides.append(truth(*moved))
            assert abs(float(one[at]) - (sides[0] - sides[1]) / 2e-5) < 1e-3


@pytest.mark.parametrize(
    ("name", "pace"),
    seldom(product(["rope", "alibi"], ["at once", "in blocks"]), but=[("alibi", "in blocks")]),
)
def test_what_is_hidden_and_not_finite_does_not_come_through(name, pace, monkeypatch):
    set_pace(pace, monkeypatch)
    encoding, params = ENCODINGS[name]
    q, k, v = arrays()
    run = jax.jit(lambda q, k, v: attend(q, k, v, encoding=encoding, **given({}, params)))
    clean = run(q, k, v)
    sees = np.array(options.Q_POS) >= 6
    loss = lambda *x: run(*x)[:, :2, ~sees].sum()  # noqa: E731
    slopes = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))
    for bad in (math.nan, math.inf):
        for spoilt in (1, 2):
            tensors = [q, k, v]
            tensors[spoilt] = tensors[spoilt].at[:, 0, 6, 1].set(bad)
            out = run(*tensors)
            assert jnp.isnan(out[:, :2, sees]).all()
            assert jnp.array_equal(out[:, :2, ~sees], clean[:, :2, ~sees])
            assert jnp.array_equal(out[:, 2:], clean[:, 2:])
            assert all(jnp.isfinite(slope).all() for slope in slopes(*tensors))


@pytest.mark.slow
def test_windows_documents_and_positions_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    from posenc.torch import attend as theirs

    q, k, v = (np.array(x) for x in arrays())
    k, v = k[:, :, :9], v[:, :, :9]
    where = np.array([[0, 1, 2, 0, 1, 2, 3, 4, 5], [3, 4, 5, 6, 7, 8, 9, 10, 11]])
    documents = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1])
    for encoding in (pe.RoPE(8), pe.ALiBi(4)):
        both = []
        for attention_of, array in ((attend, jnp.asarray), (theirs, torch.from_numpy)):
            both.append(
                attention_of(
                    *(array(x) for x in (q, k, v)),
                    encoding=encoding,
                    causal=True,
                    window=4,
                    q_pos=array(where),
                    k_pos=array(where),
                    documents=array(documents),
                    scale=0.3,
                )
            )
        assert np.abs(np.asarray(both[0]) - both[1].numpy()).max() < 1e-5


@pytest.mark.slow
def test_points_on_a_grid_go_through_blocks_too(monkeypatch):
    q, k, v = (x[:, :, :9] for x in arrays())
    where = pe.grid(3, 3, like=q)
    run = lambda: attend(q, k, v, encoding=pe.AxialRoPE(8, pe.Split(2)), q_pos=where)  # noqa: E731
    at_once = run()
    monkeypatch.setattr(attention, "FEW_PAIRS", 0)
    monkeypatch.setattr(attention, "ROWS", 4)
    assert jnp.allclose(run(), at_once, atol=1e-6)


def test_points_that_are_not_the_last_are_refused_or_nan():
    q, k, v = (x[:, :, :9] for x in arrays())
    where, mine = pe.grid(3, 3, like=q), jnp.array([0, 8])
    run = lambda at: attend(q[:, :, mine], k, v, causal=True, q_pos=at, **options)  # noqa: E731
    options = {"encoding": pe.AxialRoPE(8, pe.Split(2)), "k_pos": where}
    with pytest.raises(ValueError, match=r"q_pos must be the last of k_pos for a causal mask"):
        run(where[mine])
    made = jax.jit(run)(where[mine])
    assert jnp.isnan(made[:, :, 0]).all()
    assert not jnp.isnan(made[:, :, 1]).any()


def test_a_long_text_has_no_array_of_all_pairs(monkeypatch):
    """Neither forward nor backward: no value of the program is as large as queries times keys."""
    monkeypatch.setattr(attention, "FEW_PAIRS", 0)
    length = 1024
    q = jnp.zeros((1, 1, length, 8))
    loss = lambda q: attend(q, q, q, encoding=pe.ALiBi(1), causal=True).sum()  # noqa: E731
    program = str(jax.make_jaxpr(jax.grad(loss))(q))
    assert f"128,{length}]" in program
    assert f"{length},{length}]" not in program


def test_no_key_leaves_0_and_the_sinks():
    q, k, v = arrays()
    where = {"q_pos": options.Q_POS, "k_pos": [], "return_lse": True}
    out, lse = attend(q, k[:, :, :0], v[:, :, :0], encoding=pe.NoPE(), **where)
    assert not out.any()
    assert (lse == -np.inf).all()
    sinks = jnp.arange(4.0)
    _, lse = attend(q, k[:, :, :0], v[:, :, :0], encoding=pe.NoPE(), sinks=sinks, **where)
    assert jnp.array_equal(lse[0, :, 0], sinks)


Q = jnp.zeros((1, 2, 3, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: attend(np.zeros((1, 2, 3, 4)), Q, Q, encoding=pe.NoPE()),
            "q must be a jax.Array; got ndarray",
        ),
        (
            lambda: attend(Q.astype(int), Q, Q, encoding=pe.NoPE()),
            "q must have a real floating dtype; got int32",
        ),
        (
            lambda: attend(Q, Q, Q, encoding=pe.Sinusoidal(4)),
            "encoding must be a Rotary, a Bias or Scores; an additive encoding is added to the "
            "embeddings, before attention; got Sinusoidal(4)",
        ),
        (
            lambda: attend(Q, Q, Q, encoding="alibi"),
            "encoding must be a Rotary, a Bias or Scores; an additive encoding is added to the "
            "embeddings, before attention; got 'alibi'; pe.make makes one by its name",
        ),
        (
            lambda: attend(Q, Q, Q, encoding=pe.NoPE(), dropout=0.5),
            "dropout_key must be a key of jax.random for a dropout of more than 0; got None",
        ),
        (
            lambda: attend(Q, Q, Q, encoding=pe.NoPE(), layout="sbhd"),
            "layout must be 'bhsd' or 'bshd'; got layout='sbhd'",
        ),
        (
            lambda: attend(Q, Q, Q, encoding=pe.NoPE(), softcap=0.0),
            "softcap must be more than 0; got softcap=0.0",
        ),
    ],
)
def test_the_message_names_argument_rule_and_value(call, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        call()
