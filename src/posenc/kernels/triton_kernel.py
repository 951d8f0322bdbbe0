"""What triton_rotation.py runs on a GPU, in Triton's language.

Every operation here is exact or correctly rounded, and none is fused, so that a GPU computes what
Triton's interpreter does.
"""
# pyright: basic

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]


@triton.jit
def cos_sin(angle, wide: tl.constexpr):
    """Of angles below 2^27: k quarter turns and a rest r, |r| <= pi/4, and Taylor's series of r.

    pi/2 is the sum of three parts, of which k times the first two is exact in float64. In float32
    r is head + tail. The sum that ends each series rounds by 2^-25, the square z by 2^-26 of the
    cosine, products by 5 * 2^-24 of at most 0.081, the sine's tail: within 5.5e-8 altogether, as
    the angle is within 2^-53 of itself.
    """
    k = tl.floor(angle * 0.6366197723675814 + 0.5)  # 2 / pi
    r = angle - k * 1.5707963109016418
    r = (r - k * 1.5893254712295857e-08) - k * 6.123233995736766e-17
    if wide:
        head, tail = r, r * 0
    else:
        head = r.to(tl.float32)
        tail = (r - head.to(tl.float64)).to(tl.float32)
    z = head * head
    series = -1 / 3628800 + z * (1 / 479001600 + z * (-1 / 87178291200 + z * (1 / 20922789888000)))
    series = 1 / 24 + z * (-1 / 720 + z * (1 / 40320 + z * series))
    half = z * 0.5
    most = 1 - half
    cosine = most + (((1 - most) - half) + (z * z * series - head * tail))
    series = -1 / 39916800 + z * (1 / 6227020800 + z * (-1 / 1307674368000))
    series = -1 / 6 + z * (1 / 120 + z * (-1 / 5040 + z * (1 / 362880 + z * series)))
    sine = head + (head * z * series + tail * cosine)
    quarter = k.to(tl.int32)
    odd = (quarter & 1) != 0
    c, s = tl.where(odd, sine, cosine), tl.where(odd, cosine, sine)
    return tl.where(((quarter + 1) & 2) != 0, -c, c), tl.where((quarter & 2) != 0, -s, s)


@triton.jit
def read(value, to: tl.constexpr):
    """As `to`; bfloat16 by its bits, as in `round_to`, for the interpreter converts it wrongly."""
    if value.dtype == tl.bfloat16:
        bits = value.to(tl.int16, bitcast=True).to(tl.int32) << 16
        return bits.to(tl.float32, bitcast=True)
    return value.to(to)


@triton.jit
def round_to(value, to: tl.constexpr):
    """To nearest, ties to even."""
    if to == tl.bfloat16:
        bits = value.to(tl.int32, bitcast=True)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        rounded = tl.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, rounded)  # NaN stays NaN
        return rounded.to(tl.int16).to(tl.bfloat16, bitcast=True)
    return value.to(to)


@triton.jit
def rotate_block(
    x,
    out,
    x_batch,
    x_head,
    x_seq,
    x_channel,
    out_batch,
    out_head,
    out_seq,
    out_channel,
    positions,
    batch_step,
    seq_step,
    axis_step,
    axes,
    frequencies,
    axis,
    scale: tl.float64,
    heads,
    outer,
    seq,
    blocks,
    chunks,
    pairs,
    start,
    rest,
    wide: tl.constexpr,
    halves: tl.constexpr,
    back: tl.constexpr,
    block: tl.constexpr,
    most_pairs: tl.constexpr,
    most_heads: tl.constexpr,
):
    """One block of positions of one row of them: cosines and sines, then most_heads of x's heads.

    Without rows of positions, batch and head are one index.
    """
    real: tl.constexpr = tl.float64 if wide else tl.float32
    place = tl.program_id(0).to(tl.int64)
    first_head = place % chunks * most_heads
    last_head = tl.minimum(first_head + most_heads, outer)
    row = place // chunks // blocks
    t = place // chunks % blocks * block + tl.arange(0, block)
    at = (positions + row * batch_step + t * seq_step)[:, None]
    x += (t * x_seq)[:, None]
    out += (t * out_seq)[:, None]
    within = (t < seq)[:, None]
    for first in range(0, pairs, most_pairs):
        pair = first + tl.arange(0, most_pairs).to(tl.int64)
        there = (pair < pairs)[None, :]
        w = tl.load(frequencies + pair, mask=pair < pairs, other=0.0)[None, :]
        known = tl.abs(w) <= 8
        if axis is not None:
            followed = tl.load(axis + pair, mask=pair < pairs, other=0)[None, :]
            known &= (followed >= 0) & (followed < axes)
            at_axis = at + followed * axis_step
            p = tl.load(at_axis, mask=within & there & known, other=0).to(tl.float64)
        else:
            p = tl.load(at, mask=within, other=0).to(tl.float64)
        known &= tl.abs(p) < 16777216
        c, s = cos_sin(tl.where(known, p * w, 0.0), wide)
        c, s = c.to(tl.float64) * scale, s.to(tl.float64) * scale
        c = tl.where(known, c, float("nan")).to(real)
        s = tl.where(known, s, float("nan")).to(real)
        if back:
            s = -s
        channel = (start + (pair if halves else 2 * pair))[None, :]
        partner = channel + (pairs if halves else 1)
        for index in range(first_head, last_head):
            source = x + (row + index // heads) * x_batch + index % heads * x_head
            target = out + (row + index // heads) * out_batch + index % heads * out_head
            a = read(tl.load(source + channel * x_channel, mask=within & there), real)
            b = read(tl.load(source + partner * x_channel, mask=within & there), real)
            turned = round_to(a * c - b * s, out.dtype.element_ty)
            tl.store(target + channel * out_channel, turned, mask=within & there)
            turned = round_to(a * s + b * c, out.dtype.element_ty)
            tl.store(target + partner * out_channel, turned, mask=within & there)
    for first in range(0, rest, most_pairs):  # the channels that do not turn
        i = first + tl.arange(0, most_pairs).to(tl.int64)
        there = (i < rest)[None, :]
        channel = tl.where(i < start, i, i + 2 * pairs)[None, :]
        for index in range(first_head, last_head):
            source = x + (row + index // heads) * x_batch + index % heads * x_head
            target = out + (row + index // heads) * out_batch + index % heads * out_head
            kept = tl.load(source + channel * x_channel, mask=within & there)
            tl.store(target + channel * out_channel, kept, mask=within & there)
