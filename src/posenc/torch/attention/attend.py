"""`attend`, which picks a form of attention for each call, and says why."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Unpack, overload

import torch
from torch import Tensor

from posenc.core import rules
from posenc.core.arrays import disable_autocast, has_tangent, is_plain_tensor, working
from posenc.core.encoding import unwrap
from posenc.core.logits import logits
from posenc.core.mechanisms import Unbiased
from posenc.torch.attention import flex, folded
from posenc.torch.attention.blocked import attend_in_blocks, describe_route
from posenc.torch.attention.cached import prepare_cached
from posenc.torch.attention.call import FEW, Call, prepare
from posenc.torch.attention.dense import dense
from posenc.torch.attention.direct import attend_newest, attend_plain
from posenc.torch.attention.options import (
    NAMES,
    Options,
    check_names,
    spell_out,
)
from posenc.torch.cache import KVCache
from posenc.torch.given import swap_heads

Form = Literal["dense", "blocked", "folded", "flex"]
Impl = Literal["auto"] | Form

FORMS: dict[Form, Callable[[Call], Tensor]] = {
    "dense": dense,
    "blocked": attend_in_blocks,
    "folded": folded.fold,
    "flex": flex.flex,
}

FIRST = slice(0, 1)
FEW_OPTIONS = frozenset({"encoding", "causal", "window"})
"""Those that a call may have which goes straight to PyTorch's attention."""
BOUNDS = {torch.float64: 1e-6, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}
"""How far from `dense` a form may be, for values of about 1. Biases are float32 at most."""


@dataclass(frozen=True)
class Choice:
    """The form that `attend` takes, why, its bound, and why others are unavailable."""

    impl: str
    why: str
    bound: float
    unavailable: Mapping[str, str]

    def __str__(self) -> str:
        chosen = f"{self.impl}: {self.why}; within {self.bound:g} of dense for values of about 1"
        others = [describe_unavailable(name, why) for name, why in self.unavailable.items()]
        return "\n".join([chosen, *others])


class Attend:
    """softmax(logits) v for q (batch, heads, q, dim), with the encoding that makes the logits.

    q          queries, (batch, heads, q, dim), as for PyTorch's scaled_dot_product_attention
    k, v       keys and values, (batch, heads or fewer, k, dim), as projected: attend rotates them
    cache      a `KVCache` in their place, whose keys are rotated already; its positions and mask
               are used, and queries are its last tokens unless there is a q_pos
    encoding   a value of any mechanism but Additive, with the `params` that it learns, or one of
               our modules that owns them; that of the cache if it is left out
    q_pos      positions (seq,) or (batch, seq); without any the keys are at 0, 1, … and the
    k_pos      queries are the last of them
    causal     whether keys ahead of their query are hidden: by position, or by order for points on
               several axes, where queries must be the last of the keys
    window     keys that far away and farther are hidden
    documents  the document of each key, (k,) or (batch, k), or a pair for queries and keys: others
               are hidden
    mask       of bool, False where a key is hidden, or of numbers, added to the logits, -inf where
               a key is hidden: (batch, k) for padding, or (batch or 1, heads or 1, q or 1, k)
    scale      factor on the products in place of the encoding's own, 1 / sqrt(dim) mostly
    params     what the encoding learns, as `init(rng)` draws it; None for a module or a cache
    features   hidden states of the tokens, for an encoding that needs them
    softcap    c, which makes c tanh(x / c) of the products x, as in Gemma 2: before a bias or a
               mask is added, as in FlashAttention; of scores that the encoding makes, all of them
    sinks      (heads,), a logit of each head that is in the softmax's denominator only, as in
               gpt-oss: part of the attention goes nowhere
    dropout    probability that a weight is dropped; the others are divided by 1 - dropout
    generator  a torch.Generator that the dropout's seed is drawn from; PyTorch's own unless given
    layout     "bhsd" as above, or "bshd": q, k, v and the result are (batch, seq, heads, dim);
               a cache has its own
    return_lse whether to return the pair of the result and the logarithm of the softmax's
               denominator, (batch, heads, q) in at least float32, with which parts of an attention
               over different keys are put together
    impl       which form computes it; "auto" chooses

    A query that sees nothing gets 0, and -inf for the logarithm unless there are sinks. A key or a
    value that is not finite does nothing to queries that do not see it; those that do have what
    arithmetic makes of it, which is mostly NaN, in all channels or in those of the value.

    Packed documents whose positions start again need `documents`, as `pe.documents(lengths)`
    numbers them: by position alone they would see each other.

    Features are (seq, feature_dim) or (batch, seq, feature_dim), those of the keys' tokens, of
    which queries are the last, or a pair for queries and keys. An encoding that `needs` them has
    only `dense`. One that needs a mask is told which pairs are seen.

    `attend.explain(…)` with the same arguments tells which form "auto" takes, and why:
    `dense` builds the bias and is the specification; `blocked` goes through blocks of queries and,
    where pairs are more than 2^20, builds nothing that is N x N, forward or backward; `folded` puts
    the bias into a few more channels of q and k; `flex` is PyTorch's FlexAttention. One that is
    unavailable for the call is an error. The same seed drops the same weights in every form that
    has a dropout. A second or a forward-mode derivative has only `dense`.

    >>> import posenc as pe
    >>> q, k, v = torch.randn(3, 1, 8, 100, 16)
    >>> out = attend(q, k, v, encoding=pe.ALiBi(8), causal=True)
    >>> dense = attend(q, k, v, encoding=pe.ALiBi(8), causal=True, impl="dense")
    >>> torch.allclose(out, dense, atol=1e-5)
    True
    """

    def __init__(self) -> None:
        self.__signature__ = spell_out(self.__call__)

    @overload
    def __call__(
        self,
        q: Tensor,
        k: Tensor | None = None,
        v: Tensor | None = None,
        *,
        cache: KVCache | None = None,
        return_lse: Literal[False] = False,
        impl: Impl = "auto",
        **options: Unpack[Options],
    ) -> Tensor: ...

    @overload
    def __call__(
        self,
        q: Tensor,
        k: Tensor | None = None,
        v: Tensor | None = None,
        *,
        cache: KVCache | None = None,
        return_lse: Literal[True],
        impl: Impl = "auto",
        **options: Unpack[Options],
    ) -> tuple[Tensor, Tensor]: ...

    def __call__(
        self,
        q: Tensor,
        k: Tensor | None = None,
        v: Tensor | None = None,
        *,
        cache: KVCache | None = None,
        return_lse: bool = False,
        impl: Impl = "auto",
        **options: Unpack[Options],
    ) -> Tensor | tuple[Tensor, Tensor]:
        if impl == "auto" and return_lse is False:
            made = _attend_directly(q, k, v, cache, options)
            if made is not None:
                return made
        call = _prepare(q, k, v, cache, return_lse, impl, options)
        made = _attend(call, impl)
        layout = options.get("layout") if cache is None else cache.plan.layout
        out = made[..., :-1].to(call.v.dtype) if return_lse else made
        out = swap_heads(out) if layout == "bshd" else out
        return (out, made[..., -1]) if return_lse else out

    def explain(
        self,
        q: Tensor,
        k: Tensor | None = None,
        v: Tensor | None = None,
        *,
        cache: KVCache | None = None,
        return_lse: bool = False,
        impl: Impl = "auto",
        **options: Unpack[Options],
    ) -> Choice:
        """Which form `attend` takes for these arguments, why, and which are unavailable.

        >>> import posenc as pe
        >>> q = torch.randn(1, 2, 5, 8)
        >>> choice = attend.explain(q, q, q, encoding=pe.ALiBi(2))
        >>> choice.impl, choice.why
        ('blocked', 'its pairs are few enough to write down at once')
        >>> choice.unavailable["folded"]
        'ALiBi is not a sum of products of query terms and key terms, unless causal=True'
        """
        call = _prepare(q, k, v, cache, return_lse, impl, options)
        one = call.first()  # an encoding that cannot take tensors says so here, as in a call
        needed = call.token_inputs(FIRST, FIRST)
        logits(one.encoding, one.q, one.k, one.q_pos, one.k_pos, one.params, **needed)
        taken, why = (impl, "it was asked for") if impl != "auto" else choose(call)
        reasons = {name: why_unavailable(name, call) for name in FORMS}
        unavailable = {name: reason for name, reason in reasons.items() if reason}
        return Choice(taken, why, BOUNDS[call.q.dtype], unavailable)


attend = Attend()


def _attend_directly(q: Any, k: Any, v: Any, cache: Any, options: Options) -> Tensor | None:
    """The result where little has to be found out first; else None."""
    for name, given in options.items():
        if name not in FEW_OPTIONS and (given is not None or name not in NAMES):
            return None
    encoding: Any = options.get("encoding")
    causal, window = options.get("causal", False), options.get("window")
    if cache is None:
        return attend_plain(q, k, v, encoding, causal=causal) if window is None else None
    if not isinstance(cache, KVCache) or k is not None or v is not None:
        return None
    if encoding is not None and encoding is not cache.encoding:
        return None
    if cache.plan.layout == "bshd":
        return swap_heads(attend_newest(swap_heads(q), cache, causal=causal, window=window))
    return attend_newest(q, cache, causal=causal, window=window)


def _prepare(
    q: Tensor, k: Any, v: Any, cache: Any, lse: bool, impl: Impl, options: Options
) -> Call:
    """The call, checked: of tensors or of a cache."""
    check_names(options)
    rules.one_of("impl", impl, ("auto", *FORMS))
    rules.flag("return_lse", lse)
    if cache is not None:
        return prepare_cached(q, k, v, cache, lse=lse, **options)
    return prepare(q, k, v, lse=lse, **options)


def _attend(call: Call, impl: Impl) -> Tensor:
    """The result of the call in this form, with one channel more if it has its logsumexp."""
    if not call.q.numel() or not call.k.shape[2]:
        return _attend_to_nothing(call)
    if impl == "auto":
        impl, _ = choose(call)
    elif reason := why_unavailable(impl, call):
        raise ValueError(describe_unavailable(impl, reason))
    with disable_autocast(call.q):
        return FORMS[impl](call)


def _attend_to_nothing(call: Call) -> Tensor:
    """The result where there is no query, or none that sees a key; all gradients are 0."""
    nothing = sum(x.reshape(-1)[:0].sum() for x in call.tensors())
    shape = call.q.shape[:3]
    out = call.v.new_zeros(*shape, call.v.shape[3]) + nothing
    if not call.lse:
        return out
    total = out.new_full((*shape, 1), -math.inf, dtype=working(torch, out.dtype))
    if call.sinks is not None:
        total = torch.logaddexp(total, call.sinks.to(total.dtype)[:, None, None])
    return torch.cat([out.to(total.dtype), total], dim=-1)


def why_unavailable(impl: str, call: Call) -> str | None:
    """Why a form cannot take this call; None where it can."""
    if call.encoding.needs and impl != "dense":
        name, needs = (
            type(unwrap(call.encoding)).__name__,
            " and ".join(sorted(call.encoding.needs)),
        )
        return f"{name} depends on the tokens ({needs}), which only 'dense' passes on"
    if impl == "folded":
        return folded.why_unavailable(call)
    return flex.why_unavailable(call) if impl == "flex" else None


def describe_unavailable(impl: str, reason: str) -> str:
    """The sentence for a form that cannot take a call."""
    return f"impl={impl!r} is unavailable: {reason}"


def choose(call: Call) -> tuple[Form, str]:
    """The form for `auto` and the reason."""
    if call.encoding.needs:
        return "dense", "the encoding depends on the tokens, which only this form passes on"
    if not torch.compiler.is_compiling() and has_tangent(*call.tensors()):
        return "dense", "it has a forward-mode derivative, which only dense supports"
    encoding, width = call.remaining()
    fused = not call.beyond_fused
    if fused and isinstance(encoding, Unbiased) and width <= 2 * call.q.shape[-1]:
        return "folded", "all of it is in q and k before PyTorch's own attention"
    if call.q.device.type not in ("cpu", "meta") and not flex.why_unavailable(call):
        return "flex", "FlexAttention has kernels for this device"
    traced = call.q.is_meta or not is_plain_tensor(call.q, call.k, call.v)
    if traced and (call.q.shape[1] * call.pairs <= FEW or not torch.compiler.is_compiling()):
        return "dense", "it is being traced, where pieces that depend on values cannot be"
    return "blocked", describe_route(call)
