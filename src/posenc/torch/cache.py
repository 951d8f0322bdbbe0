"""Keys and values of the tokens so far, kept as their encoding wants them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from posenc.core import rules
from posenc.core.arrays import working
from posenc.core.encoding import Encoding, unwrap
from posenc.core.fused_torch import FusedRotation
from posenc.core.hints import hinted
from posenc.core.inputs import positions_for
from posenc.core.mechanisms import Additive, Rotary, Unbiased
from posenc.torch.given import unpack_encoding, wrappers
from posenc.torch.parameters import EncodingModule
from posenc.torch.store import Store, join


class KVCache:
    """The keys and values of a text, for `attend(q, cache=cache)`: a value, never changed.

    `append`, `crop` and `reorder` return another. Caches that grow from one another share memory:
    appending to the newest takes time in proportion to what is new; appending to an older one
    (after `crop`, or twice to the same) copies, so that none changes under its owner.

    encoding   a value of any mechanism, or one of our modules with its parameters
    params     what a value learns, as `init(rng)` draws it; None for a module

    Keys are stored rotated where the angle of a position is settled (RoPE), so each is rotated
    once, and as projected where the encoding acts on the logits or depends on the length of the
    text (ALiBi, T5, dynamic NTK, LongRoPE). An additive encoding leaves keys and values alone.

    >>> import posenc as pe
    >>> from posenc.torch import attend
    >>> q, k, v = torch.randn(3, 1, 8, 5, 16)
    >>> prompt = KVCache(pe.RoPE(16)).append(k[:, :, :4], v[:, :, :4])
    >>> cache = prompt.append(k[:, :, 4:], v[:, :, 4:])
    >>> len(prompt), len(cache)
    (4, 5)
    >>> last = attend(q[:, :, 4:], cache=cache, causal=True)
    >>> whole = attend(q, k, v, encoding=pe.RoPE(16), causal=True)
    >>> torch.allclose(last, whole[:, :, 4:], atol=1e-5)
    True
    """

    __slots__ = ("_length", "_plan", "_store")
    _plan: "Plan"
    _store: Store | None
    _length: int

    @hinted("KVCache")
    def __init__(
        self, encoding: Encoding | EncodingModule, *, params: Mapping[str, Any] | None = None
    ):
        _set(self, make_plan(encoding, params), None, 0)

    @property
    def encoding(self) -> Encoding | EncodingModule:
        """The encoding, as it was given."""
        return self._plan.given

    @property
    def keys(self) -> Tensor:
        """The keys as they are kept, rotated or as projected: (batch, heads, seq, dim)."""
        return self.store.keys[:, :, : self._length]

    @property
    def values(self) -> Tensor:
        """The values: (batch, heads, seq, dim)."""
        return self.store.values[:, :, : self._length]

    @property
    def positions(self) -> Tensor:
        """The position of each token: (seq,) or (batch, seq), with a last axis on a grid."""
        made = self.store.first(self._length)[2]
        return torch.arange(self._length, device=self.keys.device) if made is None else made

    @property
    def mask(self) -> Tensor | None:
        """True at tokens, False at padding, (batch, seq) of bool; None if nothing is padded."""
        return self.store.first(self._length)[3]

    @property
    def plan(self) -> "Plan":
        """How the encoding wants keys kept."""
        return self._plan

    @property
    def store(self) -> Store:
        """The memory, which longer caches may share."""
        if self._store is None:
            raise ValueError("cache must hold a token; append keys and values first")
        return self._store

    def append(
        self, k: Tensor, v: Tensor, pos: Any = None, mask: Tensor | None = None
    ) -> "KVCache":
        """The cache with more tokens.

        k, v   keys as projected and values, (batch, heads, seq, dim)
        pos    their positions, (seq,) or (batch, seq), as `left_padded(mask)` makes them, with a
               last axis on a grid; None: they go on after the last token, or start at 0
        mask   (batch, seq) of bool, False at padding, which no query sees; None: all are tokens

        Where k or v requires a gradient, memory is not shared, and the gradient reaches them.
        """
        plan, store, start = self._plan, self._store, self._length
        _check_tokens(k, v, store)
        positions = None
        if plan.by_order:
            pos = None
        if pos is not None or plan.axes is not None or (store and store.positions is not None):
            positions = _read_positions(pos, k, store, start, plan.axes)
        if mask is not None:
            mask = _read_mask(mask, k)
        end = start + k.shape[2]
        if plan.rotary is not None:
            where = torch.arange(start, end, device=k.device) if positions is None else positions
            k = plan.rotate_keys(k, where)
        explicit = pos is not None or mask is not None
        tracked = torch.is_grad_enabled() and (k.requires_grad or v.requires_grad)
        if store is None or tracked or not store.extend(start, k, v, positions, mask):
            seq = -1 if plan.axes is None else -2
            store = join(store, start, k, v, positions, mask, seq=seq)
        elif explicit:
            store.ahead = None
        return _make(plan, store, end)

    def crop(self, length: int) -> "KVCache":
        """The first tokens alone, as after a draft that was rejected.

        length   how many, at most len(cache)
        """
        length = rules.whole("length", length, least=0, most=self._length)
        return _make(self._plan, self._store, length)

    def reorder(self, rows: Tensor) -> "KVCache":
        """These rows of the batch, in this order, some perhaps more than once: for beams.

        rows   indices of rows, (batch,)
        """
        if not isinstance(rows, Tensor) or rows.ndim != 1 or rows.dtype != torch.int64:
            got = f"{rows.dtype} {tuple(rows.shape)}" if isinstance(rows, Tensor) else repr(rows)
            raise ValueError(f"rows must be a tensor (batch,) of int64; got {got}")
        store = self.store
        k, v, positions, mask = store.first(self._length)
        if positions is not None and positions.ndim > -store.seq and positions.shape[0] > 1:
            positions = positions[rows]
        mask = None if mask is None else mask[rows]
        made = join(None, 0, k[rows], v[rows], positions, mask, seq=store.seq)
        return _make(self._plan, made, self._length)

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:  # an empty one is a cache too
        return True

    def __repr__(self) -> str:
        given = self._plan.given
        value = given.encoding if isinstance(given, EncodingModule) else given
        return f"KVCache({value}, {self._length} tokens)"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} of a KVCache cannot be set; append returns another cache")

    def __reduce__(self) -> tuple[object, ...]:
        return _make, (self._plan, self._store, self._length)


def _set(cache: KVCache, plan: "Plan", store: Store | None, length: int) -> None:
    put = object.__setattr__
    put(cache, "_plan", plan)
    put(cache, "_store", store)
    put(cache, "_length", length)


def _make(plan: "Plan", store: Store | None, length: int) -> KVCache:
    cache = KVCache.__new__(KVCache)
    _set(cache, plan, store, length)
    return cache


@dataclass(frozen=True, eq=False)
class Plan:
    """How an encoding wants keys kept: rotated if there is a `rotary`, else as projected."""

    given: Any
    """The encoding as the caller gave it, a value or a module."""
    encoding: Encoding
    """What acts in attention; Unbiased in place of an additive encoding."""
    axes: int | None
    rotary: Rotary | None
    factors: tuple[Encoding, ...]
    """The wrappers of `rotary`, whose factors queries are multiplied by."""
    values: Mapping[str, Tensor] | None
    learned: tuple[Tensor, ...]
    """The parameters, to see whether they are trained or written to."""
    waves: FusedRotation | None = None
    """The rotation, if it is made of waves, for the short ways to it."""
    by_kernels: bool = False
    by_order: bool = False
    """Whether positions say nothing here: points whose encoding was added to the embeddings."""

    @property
    def params(self) -> Mapping[str, Tensor] | None:
        """The parameters by name; a module is asked again, for its graph may be another."""
        if self.learned and isinstance(self.given, EncodingModule):
            return self.given.tensors()
        return self.values

    @property
    def version(self) -> int:
        """A number that grows when a parameter is written to."""
        total = 0
        for x in self.learned:
            total += 0 if x.is_inference() else x._version
        return total

    @property
    def learns(self) -> bool:
        """Whether a parameter requires a gradient."""
        return any(x.requires_grad for x in self.learned)

    def rotate_keys(self, k: Tensor, positions: Tensor) -> Tensor:
        """R(p) k."""
        assert self.rotary is not None
        made = self._rotate_waves(k, positions)
        if made is not None:
            return made
        return self.rotary.rotate_keys(k, positions, self.params if self.learned else None)

    def rotate_queries(self, q: Tensor, positions: Tensor) -> Tensor:
        """R(p) q times the factors of the wrappers, rounded once."""
        assert self.rotary is not None
        wide = q.to(working(torch, q.dtype)) if self.factors else q
        made = self._rotate_waves(wide, positions)
        if made is None:
            made = self.rotary.rotate(wide, positions, self.params if self.learned else None)
        for wrapper in self.factors:
            factors = wrapper.row_factors(made, positions)
            made = made if factors is None else made * factors
        return made.to(q.dtype)

    def _rotate_waves(self, x: Tensor, positions: Tensor) -> Tensor | None:
        """R(p) x with no more checks than a token can pay for; None where more are needed."""
        waves = self.waves
        if waves is None:
            return None
        if not self.by_kernels:
            made = waves.rotate_few(positions, x)
            return None if made is None else made[0]
        if not waves.fits(x, positions):
            return None
        try:
            return waves.rotate(x, positions, inverse=False)
        except RuntimeError:  # the method says what is wrong, or does without the kernels
            return None


def make_plan(given: object, params: Mapping[str, object] | None) -> Plan:
    """The plan for an encoding, or a sentence that says why there is none."""
    value = given.encoding if isinstance(given, EncodingModule) else given
    if isinstance(value, Additive):
        return Plan(given, Unbiased(), None, None, (), None, (), by_order=value.axes is not None)
    encoding, tensors = unpack_encoding(given, params)
    if "features" in encoding.needs:
        raise TypeError(
            "encoding must not depend on features of the tokens, which a cache does not hold; "
            f"got {type(encoding).__name__}"
        )
    inner, around = unwrap(encoding), tuple(wrappers(encoding))
    rotary = inner if isinstance(inner, Rotary) else None
    if not encoding.fits_any_length or encoding.needs:
        rotary = None
    if any(type(wrapper).row_factors is Encoding.row_factors for wrapper in around):
        rotary = None  # a wrapper that does more than multiply
    owned = given.parameters() if isinstance(given, EncodingModule) else (tensors or {}).values()
    waves = None if rotary is None else rotary.fuse()
    by_kernels = waves is not None and waves.why_unavailable() is None
    return Plan(
        given, encoding, encoding.axes, rotary, around, tensors, tuple(owned), waves, by_kernels
    )


def _check_tokens(k: Tensor, v: Tensor, store: Store | None) -> None:
    """Raise an error unless k and v fit each other and what is kept."""
    fits = (
        isinstance(k, Tensor)
        and isinstance(v, Tensor)
        and k.ndim == v.ndim == 4
        and k.shape[:3] == v.shape[:3]
        and k.is_floating_point()
        and k.dtype == v.dtype
    )
    if not fits:
        raise ValueError(
            "k and v must be floating tensors (batch, heads, seq, dim) that agree in all but dim; "
            f"got {_describe(k)} and {_describe(v)}"
        )
    if store is None:
        return
    for name, x, kept in (("k", k, store.keys), ("v", v, store.values)):
        alike = x.dtype == kept.dtype and x.device == kept.device
        if not alike or x.shape[:2] != kept.shape[:2] or x.shape[3] != kept.shape[3]:
            raise ValueError(
                f"{name} must have the batch, heads, dim, dtype and device of the cache, "
                f"{_describe(kept[:, :, :0])}; got {_describe(x)}"
            )


def _describe(x: object) -> str:
    return f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__


def _read_positions(
    pos: Any, k: Tensor, store: Store | None, start: int, axes: int | None
) -> Tensor | None:
    """The positions of new tokens; None if all tokens are at 0, 1, …."""
    kept = None if store is None else store.positions
    if pos is None:
        if axes is not None:
            raise ValueError(
                f"pos must be (…, seq, {axes}), as grid(…, like=k) makes them; got pos=None"
            )
        if kept is None or not start:
            return None
        after = torch.arange(1, k.shape[2] + 1, device=k.device)
        return kept.narrow(-1, start - 1, 1) + after
    if axes is None and kept is None and _goes_on(pos, k, start):
        return None
    positions = positions_for("k", k, pos, axes=axes)
    return positions if positions.is_floating_point() else positions.to(torch.int64)


def _goes_on(pos: object, k: Tensor, start: int) -> bool:
    """Whether positions are those that would be taken if none were given."""
    if not isinstance(pos, Tensor) or pos.dtype != torch.int64 or pos.device.type != "cpu":
        return False
    after = torch.arange(start, start + k.shape[2])
    return pos.shape in (after.shape, (1, *after.shape)) and bool((pos == after).all())


def _read_mask(mask: object, k: Tensor) -> Tensor:
    shape = (k.shape[0], k.shape[2])
    if not isinstance(mask, Tensor) or mask.is_floating_point() or tuple(mask.shape) != shape:
        raise ValueError(
            f"mask must be (batch, seq) = {shape} of bool, True at tokens; got {_describe(mask)}"
        )
    return mask.to(k.device).bool()
