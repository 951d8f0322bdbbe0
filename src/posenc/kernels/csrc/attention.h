// One query's attention, in plain C++ that compilers vectorise; library.cpp includes this file behind
// loops.h, once for each SIMD level. Nothing depends on how tasks are shared out: keys come in chunks
// of one size, each with a softmax of its own, and chunks are put together in their order.

// e^x for x <= 0, or NaN, within 1.1e-7 of itself: 2^k e^r with |r| <= ln(2)/2 and the Taylor series
// of r. What is below e^-87, whose exponent may not be a normal one, is 0.
inline float exp_of_negative(float x) {
  const uint32_t kept = uint32_t(x < -87) - 1;  // a mask, since GCC leaves a choice to scalars
  const float shifted = x * 0x1.715476p+0f + 0x1.8p23f;  // k in its last bits
  const float k = shifted - 0x1.8p23f;
  const float r = (x - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;  // ln(2) in two parts
  const float series = 1 + r * (1 + r * (1.f / 2 + r * (1.f / 6 + r * (1.f / 24 + r * (
      1.f / 120 + r * (1.f / 720 + r * (1.f / 5040)))))));
  const uint32_t power = (bits_of(shifted) + 127) << 23;
  return as_float(bits_of(series * as_float(power)) & kept);
}

// Sums are kept in LANES lanes and added in one order, whatever the SIMD level has room for.
constexpr int64_t LANES = 16;

inline void add_lanes(const float* x, float* y) {
  for (int64_t i = 0; i < 4; i++) y[i] = (x[i] + x[i + 8]) + (x[i + 4] + x[i + 12]);
}

inline float add_four(const float* x) { return (x[0] + x[2]) + (x[1] + x[3]); }

// q . k for one key, in four parts: they are added for many keys at once.
template <typename Type>
inline void multiply(const float* q, const typename Type::Cell* k, int64_t dim, float* parts) {
  float sums[LANES] = {};
  int64_t i = 0;
  for (; i + LANES <= dim; i += LANES)
    for (int64_t lane = 0; lane < LANES; lane++) sums[lane] += q[i + lane] * Type::read(k[i + lane]);
  for (int64_t lane = 0; i + lane < dim; lane++) sums[lane] += q[i + lane] * Type::read(k[i + lane]);
  add_lanes(sums, parts);
}

// Attention to the keys first .. last of one group, by all of its queries: for each its largest
// logit, the sum of weights relative to it, and the sum of the values weighted by them.
template <typename Type>
void attend_chunk(const Attention& job, int64_t batch, int64_t group, int64_t first, int64_t last,
                  float* memory, float* made) {
  using Cell = typename Type::Cell;
  const int64_t queries = job.heads / job.groups, dim = job.dim, width = job.width;
  const int64_t count = last - first;
  float *q = memory, *logits = q + queries * dim, *parts = logits + queries * CHUNK;
  for (int64_t each = 0; each < queries; each++) {
    const int64_t head = group * queries + each;
    const Cell* from = static_cast<const Cell*>(job.q) + batch * job.q_batch + head * job.q_head;
    for (int64_t i = 0; i < dim; i++) q[each * dim + i] = Type::read(from[i]);
  }
  const Cell* keys = static_cast<const Cell*>(job.k) + batch * job.k_batch + group * job.k_group;
  for (int64_t t = 0; t < count; t++)
    for (int64_t each = 0; each < queries; each++)
      multiply<Type>(q + each * dim, keys + (first + t) * job.k_seq, dim,
                     parts + 4 * (each * CHUNK + t));

  for (int64_t each = 0; each < queries; each++) {
    const int64_t head = group * queries + each;
    float *l = logits + each * CHUNK, *sums = made + each * (2 + width);
    const float scale = float(job.scale);
    const float* products = parts + 4 * each * CHUNK;
    for (int64_t t = 0; t < count; t++) l[t] = scale * add_four(products + 4 * t);
    if (job.added) {
      const float* added = job.added + batch * job.added_batch + head * job.added_head + first;
      for (int64_t t = 0; t < count; t++) l[t] += added[t];
    }
    if (job.seen) {
      const uint8_t* seen = job.seen + batch * job.added_batch + head * job.added_head + first;
      for (int64_t t = 0; t < count; t++) l[t] = seen[t] ? l[t] : -__builtin_inff();
    }
    for (int64_t t = count; t % LANES; t++) l[t] = -__builtin_inff();
    float most[LANES], weights[LANES] = {};
    for (int64_t lane = 0; lane < LANES; lane++) most[lane] = -__builtin_inff();
    for (int64_t t = 0; t < count; t += LANES)
      for (int64_t lane = 0; lane < LANES; lane++)
        most[lane] = l[t + lane] > most[lane] ? l[t + lane] : most[lane];
    float top = most[0];
    for (int64_t lane = 1; lane < LANES; lane++) top = most[lane] > top ? most[lane] : top;
    sums[0] = top;
    const float base = top == -__builtin_inff() ? 0 : top;  // if nothing is seen
    for (int64_t t = 0; t < count; t += LANES)
      for (int64_t lane = 0; lane < LANES; lane++) {
        l[t + lane] = exp_of_negative(l[t + lane] - base);
        weights[lane] += l[t + lane];
      }
    float four[4];
    add_lanes(weights, four);
    sums[1] = add_four(four);
    for (int64_t i = 0; i < width; i++) sums[2 + i] = 0;
  }

  const Cell* values = static_cast<const Cell*>(job.v) + batch * job.v_batch + group * job.v_group;
  int64_t t = 0;
  for (; t + 4 <= count; t += 4) {  // four at a time, so that sums are read and written less often
    const Cell* v = values + (first + t) * job.v_seq;
    const Cell *v1 = v + job.v_seq, *v2 = v1 + job.v_seq, *v3 = v2 + job.v_seq;
    for (int64_t each = 0; each < queries; each++) {
      const float* w = logits + each * CHUNK + t;
      const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
      float* sums = made + each * (2 + width) + 2;
#pragma GCC ivdep
      for (int64_t i = 0; i < width; i++)
        sums[i] = sums[i] + w0 * Type::read(v[i]) + w1 * Type::read(v1[i]) +
                  w2 * Type::read(v2[i]) + w3 * Type::read(v3[i]);
    }
  }
  for (; t < count; t++)
    for (int64_t each = 0; each < queries; each++) {
      const Cell* v = values + (first + t) * job.v_seq;
      const float w = logits[each * CHUNK + t];
      float* sums = made + each * (2 + width) + 2;
#pragma GCC ivdep
      for (int64_t i = 0; i < width; i++) sums[i] += w * Type::read(v[i]);
    }
}

// Put the chunks of one head together.
template <typename Type>
void join_chunks(const Attention& job, int64_t head, float* sums) {
  const int64_t width = job.width, queries = job.heads / job.groups;
  const int64_t step = queries * (2 + width);
  const float* made = job.made + head / queries * job.chunks * step + head % queries * (2 + width);
  float top = -__builtin_inff(), total = 0;
  for (int64_t c = 0; c < job.chunks; c++) top = made[c * step] > top ? made[c * step] : top;
  for (int64_t i = 0; i < width; i++) sums[i] = 0;
  for (int64_t c = 0; c < job.chunks; c++) {
    const float* part = made + c * step;
    const float factor = part[0] == top ? 1 : exp_of_negative(part[0] - top);
    total += factor * part[1];
    for (int64_t i = 0; i < width; i++) sums[i] += factor * part[2 + i];
  }
  typename Type::Cell* out = static_cast<typename Type::Cell*>(job.out) + head * width;
  for (int64_t i = 0; i < width; i++) {
    const float x = total == 0 ? 0 : sums[i] / total;
    // a NaN of 32 bits, such as one of a bias, may have bits that `round` would carry into its sign
    out[i] = Type::round(x == x ? x : __builtin_nanf(""));
  }
}

template <typename Type>
void attend_as(const Attention& job, bool joins, int64_t begin, int64_t end, float* memory) {
  const int64_t size = job.heads / job.groups * (2 + job.width);
  for (int64_t task = begin; task < end; task++) {
    if (joins) {
      join_chunks<Type>(job, task, memory);
      continue;
    }
    const int64_t chunk = task % job.chunks, row = task / job.chunks;
    const int64_t first = chunk * CHUNK, last = first + CHUNK < job.keys ? first + CHUNK : job.keys;
    attend_chunk<Type>(job, row / job.groups, row % job.groups, first, last, memory,
                       job.made + task * size);
  }
}

inline void attend(const Attention& job, bool joins, int64_t begin, int64_t end, float* memory) {
  switch (job.type) {
    case Element::float32: return attend_as<Float32>(job, joins, begin, end, memory);
    case Element::bfloat16: return attend_as<BFloat16>(job, joins, begin, end, memory);
    default: return attend_as<Float16>(job, joins, begin, end, memory);
  }
}
