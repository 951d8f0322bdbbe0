"""Where the keys of a cache are: from the positions of the queries, the mask and their number."""

import torch
from torch import Tensor

from posenc.core.arrays import host


def find_key_positions(
    q_pos: Tensor, keys: int, mask: Tensor | None, *, windowed: bool = False
) -> Tensor:
    """The positions of keys, (batch or 1, k).

    q_pos      positions of queries, (batch or 1, q)
    keys       how many keys there are; as many as queries if nothing was cached
    mask       of bool, (batch, 1, q, k), True where a query sees a key; None: all up to its own
    windowed   whether keys may be missing at the beginning, as in a cache of a sliding window

    Without a cache keys are where queries are. With one, keys that some query sees are consecutive
    and the last of them is that of the last query: padding, wherever it is, and the places of a
    static cache that are not filled yet take no position. Text must begin at 0, which is seen from
    the positions of the queries; otherwise it is not known where cached keys are, and that is an
    error wherever values can be read (on a CPU, and not in a compiled graph).

    >>> find_key_positions(torch.tensor([[3]]), 4, None)
    tensor([[0, 1, 2, 3]])
    >>> padded = torch.tensor([False, True, True, True])[None, None, None]
    >>> find_key_positions(torch.tensor([[2]]), 4, padded)  # the first is hidden
    tensor([[0, 0, 1, 2]])
    """
    if keys == q_pos.shape[-1]:
        return q_pos
    last = q_pos[:, -1:]
    if mask is None:
        k_pos = last + torch.arange(1 - keys, 1, device=q_pos.device)
        _require_start(k_pos[:, :1], windowed=windowed)
        return k_pos
    seen = mask.flatten(1, 2).any(dim=1)  # (batch, k)
    after = seen.flip(-1).cumsum(-1).flip(-1) - seen.to(torch.int64)
    # what is hidden before the text has no position of its own: that of the first token
    k_pos = last - torch.minimum(after, (seen.sum(-1, keepdim=True) - 1).clamp(min=0))
    _require_start(torch.where(seen, k_pos, last).amin(-1, keepdim=True), windowed=windowed)
    _require_agreement(q_pos, k_pos, mask)
    return k_pos


def _require_start(first: Tensor, *, windowed: bool) -> None:
    values = host(first)
    if values is not None and not windowed and values.any():
        at = int(values[values != 0][0])
        raise ValueError(
            "position_ids must count every token from 0, since positions of cached keys are "
            f"counted back from those of the queries; got a text whose first token is at {at}"
        )


def _require_agreement(q_pos: Tensor, k_pos: Tensor, mask: Tensor) -> None:
    """Each query's own key, the last that it sees, must be where the query is."""
    q, own = host(q_pos), host(k_pos)
    if q is None or own is None:
        return
    rows = mask.flatten(1, 2)  # (batch, q, k); one head, since the mask is the same for all
    last = (rows.cumsum(-1) * rows).argmax(-1)
    found = torch.gather(k_pos.expand(len(rows), -1), 1, last)
    wrong = (found != q_pos) & rows.any(-1)
    if bool(wrong.any()):
        where, meant = int(q_pos.expand_as(wrong)[wrong][0]), int(found[wrong][0])
        raise ValueError(
            "position_ids must be consecutive with a cache, since positions of cached keys are "
            f"counted back from those of the queries; got {where} where {meant} was next"
        )
