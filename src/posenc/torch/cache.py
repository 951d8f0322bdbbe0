"""Keys and values of the tokens so far, kept as their encoding wants them."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from posenc.core import rules
from posenc.core.arrays import refuse_dtensor
from posenc.core.encoding import Encoding
from posenc.core.fused_torch import is_at_rest, is_plain
from posenc.core.hints import hinted
from posenc.core.inputs import positions_for
from posenc.core.shift import Shift, read_shift, rotate_cached
from posenc.torch.given import LAYOUTS, Layout, swap_heads
from posenc.torch.parameters import EncodingModule
from posenc.torch.plan import Plan, make_plan
from posenc.torch.store import Store
from posenc.torch.store import join as extend_store


class KVCache:
    """The keys and values of a text, for `attend(q, cache=cache)`: a value, never changed.

    `append`, `crop`, `take`, `reorder`, `shift` and `join` return another. Caches that grow from
    one another share memory: appending to the newest takes time in proportion to what is new;
    appending to an older one (after `crop`, or twice to the same) copies, so that none changes
    under its owner.

    encoding   a value of any mechanism, or one of our modules with its parameters
    params     what a value learns, as `init(rng)` draws it; None for a module
    layout     "bhsd", or "bshd": `append` then takes keys and values (batch, seq, heads, dim), and
               `attend` queries; they are kept heads first all the same

    Keys are stored rotated where the angle of a position is settled (RoPE), so each is rotated
    once, and as projected where the encoding acts on the logits or depends on the length of the
    text (ALiBi, T5, dynamic NTK, LongRoPE). An additive encoding leaves keys and values alone.
    What a bias adds is kept for tokens to come, and made anew once a parameter is replaced or
    written to; a write through `parameter.data`, which PyTorch does not count, goes unseen.

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
    _plan: Plan
    _store: Store | None
    _length: int

    @hinted("KVCache")
    def __init__(
        self,
        encoding: Encoding | EncodingModule,
        *,
        params: Mapping[str, Any] | None = None,
        layout: Layout = "bhsd",
    ):
        rules.one_of("layout", layout, LAYOUTS)
        _set(self, make_plan(encoding, params, layout), None, 0)

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
    def plan(self) -> Plan:
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

        k, v   keys as projected and values, (batch, heads, seq, dim), or in the cache's layout
        pos    their positions, (seq,) or (batch, seq), as `left_padded(mask)` makes them, with a
               last axis on a grid; None: they go on after the last token, or start at 0
        mask   (batch, seq) of bool, False at padding, which no query sees; None: all are tokens

        Where k or v requires a gradient, memory is not shared, and the gradient reaches them.
        """
        plan, store, start = self._plan, self._store, self._length
        if plan.layout == "bshd":
            k, v = swap_heads(k), swap_heads(v)
        if (
            store is not None
            and pos is None
            and mask is None
            and plan.by_kernels
            and plan.axes is None
            and is_at_rest()
            and is_plain(k, v)
            and store.extend_by_kernels(start, k, v, plan.waves)
        ):
            return _make(plan, store, start + k.shape[2])
        _check_tokens(k, v, store, plan.layout)
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
            store = extend_store(store, start, k, v, positions, mask, seq=seq)
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
        _check_indices("rows", "batch", rows)
        store = self.store
        k, v, positions, mask = store.first(self._length)
        if positions is not None and positions.ndim > -store.seq and positions.shape[0] > 1:
            positions = positions[rows]
        mask = None if mask is None else mask[rows]
        made = extend_store(None, 0, k[rows], v[rows], positions, mask, seq=store.seq)
        return _make(self._plan, made, self._length)

    def take(self, tokens: slice | Tensor) -> "KVCache":
        """These tokens alone, in this order, at the positions that they have.

        tokens   a slice, or indices of tokens, (count,) of int64, each below len(cache)
        """
        store, device = self.store, self.store.keys.device
        if isinstance(tokens, slice):
            tokens = torch.arange(self._length, device=device)[tokens]
        _check_indices("tokens", "count", tokens)
        if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < self._length:
            raise ValueError(
                f"tokens must be at least 0 and below {self._length}; "
                f"got {int(tokens.min())} to {int(tokens.max())}"
            )
        k, v, _, mask = store.first(self._length)
        positions = self.positions.index_select(store.seq, tokens)
        mask = None if mask is None else mask[:, tokens]
        return self._replace(k[:, :, tokens], v[:, :, tokens], positions, mask)

    def shift(self, by: Shift[Tensor]) -> "KVCache":
        """The same tokens at their positions plus `by`: rotated keys are turned, and rounded again.

        by   a number; or one for each token, (seq,) or (batch, seq), or for each row, (batch, 1);
             with a last axis on a grid, where a number moves along all axes

        >>> import posenc as pe
        >>> k, v = torch.randn(2, 1, 8, 4, 16)
        >>> KVCache(pe.RoPE(16)).append(k, v).shift(100).positions
        tensor([100, 101, 102, 103])
        """
        plan, store = self._plan, self.store
        if plan.is_additive:
            raise TypeError(
                "encoding must act in attention for keys to move; the positions of "
                f"{type(plan.value).__name__} were added to the embeddings"
            )
        k, v, _, mask = store.first(self._length)
        shift = read_shift(by, k, axes=plan.axes)
        positions = self.positions + shift
        if plan.rotary is not None:
            k = rotate_cached(plan.rotary, k, by=shift, params=plan.params)
        return self._replace(k, v, positions, mask)

    def join(self, other: "KVCache") -> "KVCache":
        """The tokens of this cache, then those of another, all at the positions that they have.

        other   a cache of the same encoding; to go on after this one, shift it first

        >>> import posenc as pe
        >>> k, v = torch.randn(2, 1, 8, 4, 16)
        >>> cache = KVCache(pe.RoPE(16)).append(k, v)
        >>> cache.join(cache.shift(4)).positions
        tensor([0, 1, 2, 3, 4, 5, 6, 7])
        """
        if not isinstance(other, KVCache):
            raise TypeError(f"other must be a KVCache; got {type(other).__name__}")
        plan, start = self._plan, self._length
        if not plan.keeps_as(other.plan):
            raise ValueError(
                f"other must be a cache of the same encoding, {plan.given}; got {other.encoding}"
            )
        if not other._length:
            return self
        if self._store is None:
            same = other.plan.layout == plan.layout
            return other if same else _make(plan, other._store, other._length)
        k, v, positions, mask = other.store.first(other._length)
        _check_tokens(k, v, self._store)
        if not plan.is_additive and not (
            self._store.positions is None and _goes_on(other.positions, k, start)
        ):
            positions = other.positions
        made = extend_store(self._store, start, k, v, positions, mask, seq=self._store.seq)
        return _make(plan, made, start + other._length)

    def _replace(self, k: Tensor, v: Tensor, positions: Tensor, mask: Tensor | None) -> "KVCache":
        """A cache of these tokens with memory of its own; 0, 1, … are kept as no positions."""
        seq = self.store.seq
        where = None if seq == -1 and _goes_on(positions, k, 0) else positions
        return _make(self._plan, extend_store(None, 0, k, v, where, mask, seq=seq), k.shape[2])

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


def _set(cache: KVCache, plan: Plan, store: Store | None, length: int) -> None:
    put = object.__setattr__
    put(cache, "_plan", plan)
    put(cache, "_store", store)
    put(cache, "_length", length)


def _make(plan: Plan, store: Store | None, length: int) -> KVCache:
    cache = KVCache.__new__(KVCache)
    _set(cache, plan, store, length)
    return cache


def _check_indices(name: str, size: str, indices: object) -> None:
    """Raise an error unless these are whole numbers in a row."""
    if not isinstance(indices, Tensor) or indices.ndim != 1 or indices.dtype != torch.int64:
        got = _describe(indices) if isinstance(indices, Tensor) else repr(indices)
        raise ValueError(f"{name} must be a tensor ({size},) of int64; got {got}")


def _check_tokens(k: Tensor, v: Tensor, store: Store | None, layout: Layout = "bhsd") -> None:
    """Raise an error unless k and v, heads first, fit each other and what is kept.

    layout   how the caller gave them, and is told of them
    """
    swapped = layout == "bshd"
    axes = "batch, seq, heads, dim" if swapped else "batch, heads, seq, dim"
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
            f"k and v must be floating tensors ({axes}) that agree in all but dim; "
            f"got {_describe(swap_heads(k) if swapped else k)} "
            f"and {_describe(swap_heads(v) if swapped else v)}"
        )
    if store is None:
        refuse_dtensor("k", k)
        refuse_dtensor("v", v)
        return
    for name, x, kept in (("k", k, store.keys), ("v", v, store.values)):
        alike = x.dtype == kept.dtype and x.device == kept.device
        batch, heads, _, dim = kept.shape
        if not alike or x.shape[:2] != (batch, heads) or x.shape[3] != dim:
            wanted = f"{batch}, seq, {heads}, {dim}" if swapped else f"{batch}, {heads}, seq, {dim}"
            raise ValueError(
                f"{name} must have the batch, heads, dim, dtype and device of the cache, "
                f"{kept.dtype} ({wanted}) on {kept.device}; "
                f"got {_describe(swap_heads(x) if swapped else x)} on {x.device}"
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
