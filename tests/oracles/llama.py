"""An independent Llama in float64, out of its weights: with RoPE, with a bias, or with neither."""

import numpy as np


def rope(x, positions, base):
    """Channels i and i + dim/2 of x (…, seq, dim) as complex numbers, times e^(i p w)."""
    half = x.shape[-1] // 2
    w = base ** (-np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * positions[:, None] * w)
    return np.concatenate([turned.real, turned.imag], axis=-1)


def alibi(heads, positions):
    """-m_h (p_q - p_k), m_h = 2^(-8h/heads): (head, q, k)."""
    m = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return -m[:, None, None] * (positions[:, None] - positions[None, :])


def _norm(x, weight, eps):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight


def logits(model, tokens, *, base=None, bias=None, window=None):
    """The logits (seq, vocabulary) of tokens (seq,), at positions 0, 1, …

    base     of RoPE; None: nothing is rotated
    bias     added to the attention logits, (head, q, k)
    window   keys that far behind their query are hidden
    """
    config = model.config
    heads, groups = config.num_attention_heads, config.num_key_value_heads
    w = {name: x.detach().double().numpy() for name, x in model.state_dict().items()}
    x, n = w["model.embed_tokens.weight"][tokens], len(tokens)
    positions = np.arange(n)
    away = positions[:, None] - positions[None, :]
    seen = (away >= 0) & (away < (window or n))
    for i in range(config.num_hidden_layers):
        at = f"model.layers.{i}."
        h = _norm(x, w[at + "input_layernorm.weight"], config.rms_norm_eps)
        q, k, v = (
            (h @ w[f"{at}self_attn.{name}_proj.weight"].T).reshape(n, count, -1).swapaxes(0, 1)
            for name, count in (("q", heads), ("k", groups), ("v", groups))
        )
        if base is not None:
            q, k = rope(q, positions, base), rope(k, positions, base)
        k, v = (np.repeat(each, heads // groups, axis=0) for each in (k, v))
        made = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]) + (0 if bias is None else bias)
        made = np.where(seen, made, -np.inf)
        weights = np.exp(made - made.max(-1, keepdims=True))
        out = (weights / weights.sum(-1, keepdims=True)) @ v
        x = x + out.swapaxes(0, 1).reshape(n, -1) @ w[at + "self_attn.o_proj.weight"].T
        h = _norm(x, w[at + "post_attention_layernorm.weight"], config.rms_norm_eps)
        gate = h @ w[at + "mlp.gate_proj.weight"].T
        up = h @ w[at + "mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[at + "mlp.down_proj.weight"].T
    return _norm(x, w["model.norm.weight"], config.rms_norm_eps) @ w["lm_head.weight"].T
