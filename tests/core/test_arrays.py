"""Arrays of any library: where they are from, what the host may read, which dtype goes out."""

import numpy as np
import pytest
import torch

from posenc.core import arrays
from tests.libraries import numpy_of


def test_values_go_to_the_library_of_like_and_come_back(xp):
    values = np.array([0.0, 1.5, -2.0])
    like = xp.array(np.zeros(1, dtype=np.float32))
    sent = arrays.send(values, like, dtype=xp.dtypes["float32"])
    assert type(sent) is type(like)
    assert arrays.host(sent).tolist() == values.tolist()


def test_formulas_that_libraries_spell_differently(xp):
    x = np.array([[-800.0, -1.0, 0.0, 2.0]], dtype=np.float32)
    clipped = xp.call(lambda a: arrays.clip(a, least=-1.0, most=1.0), x)
    assert numpy_of(clipped).tolist() == [[-1, -1, 0, 1]]
    sigmoid = numpy_of(xp.call(arrays.sigmoid, x))
    assert np.allclose(sigmoid, [[0, 1 / (1 + np.e), 0.5, 1 / (1 + np.exp(-2))]], atol=1e-7)
    taken = xp.call(arrays.take_along_last, x, np.array([[3, 3, 0]]))
    assert numpy_of(taken).tolist() == [[2, 2, -800]]


def test_libraries_are_not_mixed():
    with pytest.raises(TypeError) as caught:
        arrays.namespace(x=np.zeros(1), positions=torch.zeros(1))
    assert str(caught.value) == (
        "x and positions must come from the same array library; got x of numpy, positions of "
        "torch; position builders take like=x"
    )
    with pytest.raises(TypeError, match=r"x must be an array .*; got list"):
        arrays.namespace(x=[1.0])


def test_the_host_reads_what_has_values_at_once():
    assert arrays.host(torch.tensor([1.0, 2.0], requires_grad=True)).tolist() == [1, 2]
    assert arrays.host(torch.zeros(2, device="meta")) is None
    assert arrays.host(torch.zeros(2, dtype=torch.bfloat16)) is None
    seen = []
    torch.compile(lambda x: seen.append(arrays.host(x)) or x + 1, backend="eager")(torch.zeros(2))
    assert seen == [None]


def test_what_jax_traces_has_no_values():
    jax = pytest.importorskip("jax")
    seen = []
    jax.jit(lambda x: seen.append((arrays.is_traced(x), arrays.host(x))) or x)(np.zeros(2))
    assert seen == [(True, None)]
    assert not arrays.is_traced(jax.numpy.zeros(2))


def test_a_detached_array_is_a_constant():
    jax = pytest.importorskip("jax")
    assert jax.grad(lambda x: x * arrays.detach(x))(3.0 + jax.numpy.zeros(())) == 3
    x = torch.tensor(3.0, requires_grad=True)
    (x * arrays.detach(x)).backward()
    assert x.grad == 3


def test_plain_tensors_are_those_with_memory_of_their_own():
    x = torch.zeros(2)
    assert arrays.is_plain_tensor(x, torch.nn.Parameter(x))
    assert not arrays.is_plain_tensor(x, np.zeros(2))
    seen = []
    torch.func.vmap(lambda y: seen.append(arrays.is_plain_tensor(y)) or y)(torch.zeros(2, 2))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(2))
        seen += [arrays.has_tangent(dual), arrays.is_plain_tensor(dual), arrays.has_tangent(x)]
    assert seen == [False, True, False, False]


@pytest.mark.parametrize(
    ("dtype", "half"),
    [
        *((dtype, True) for dtype in (np.float16, torch.bfloat16, torch.float8_e4m3fn)),
        *((dtype, False) for dtype in (np.int16, np.float32, torch.float64)),
    ],
)
def test_halves_are_computed_in_float32(dtype, half):
    assert arrays.is_half(dtype) == half
    assert arrays.working(torch, dtype) == (torch.float32 if half else dtype)


def test_dtypes_are_those_of_the_library():
    assert arrays.float_dtype("dtype", "float32", np.zeros(1)) == np.float32
    for wrong in (torch.float32, int, "nonsense"):
        with pytest.raises(TypeError, match="dtype must be a floating dtype of numpy; got dtype="):
            arrays.float_dtype("dtype", wrong, np.zeros(1))


def test_autocast_is_off_inside():
    x = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        with arrays.disable_autocast(x):
            assert (x @ x).dtype == torch.float32


class DTensor(torch.Tensor):
    """By its name one of PyTorch's that are shared out; tests/torch/distributed has real ones."""


def test_a_tensor_that_is_shared_out_is_refused():
    shared = torch.zeros(2).as_subclass(DTensor)
    assert arrays.is_dtensor(shared)
    assert not arrays.is_dtensor(torch.zeros(2))
    arrays.refuse_dtensor("x", torch.zeros(2))
    sentence = r"x must be a tensor of this rank; got a DTensor: give x.to_local\(\) with the posit"
    for refuse in (lambda: arrays.namespace(x=shared), lambda: arrays.refuse_dtensor("x", shared)):
        with pytest.raises(TypeError, match=sentence):
            refuse()
