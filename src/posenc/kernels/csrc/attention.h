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
inline void dot(const float* q, const typename Type::Cell* k, int64_t dim, float* four) {
  float sums[LANES] = {};
  int64_t i = 0;
  for (; i + LANES <= dim; i += LANES)
    for (int64_t lane = 0; lane < LANES; lane++) sums[lane] += q[i + lane] * Type::read(k[i + lane]);
  for (int64_t lane = 0; i + lane < dim; lane++) sums[lane] += q[i + lane] * Type::read(k[i + lane]);
  add_lanes(sums, four);
}

// Some keys of one group, and memory for what its queries make of them.
struct Chunk {
  int64_t batch, group, first, count;
  float *queries, *dots, *logits;  // of each query; of each key too, of which there is room for CHUNK
  float* parts;                    // of each query: largest logit, sum of weights, weighted values
};

// The queries of a group in float32, and q . k of each key, in four parts.
template <typename Type>
void multiply_keys(const Attention& job, const Chunk& chunk) {
  using Cell = typename Type::Cell;
  const int64_t queries = job.heads / job.groups, dim = job.dim;
  for (int64_t each = 0; each < queries; each++) {
    const int64_t head = chunk.group * queries + each;
    const Cell* q = static_cast<const Cell*>(job.q) + chunk.batch * job.q_batch + head * job.q_head;
    for (int64_t i = 0; i < dim; i++) chunk.queries[each * dim + i] = Type::read(q[i]);
  }
  const Cell* keys = static_cast<const Cell*>(job.k) + chunk.batch * job.k_batch +
                     chunk.group * job.k_group + chunk.first * job.k_seq;
  for (int64_t t = 0; t < chunk.count; t++)
    for (int64_t each = 0; each < queries; each++)
      dot<Type>(chunk.queries + each * dim, keys + t * job.k_seq, dim,
                chunk.dots + 4 * (each * CHUNK + t));
}

// The logits of one query; behind the keys, up to a multiple of LANES, they are -inf.
inline void make_logits(const Attention& job, const Chunk& chunk, int64_t each, float* logits) {
  const int64_t count = chunk.count, head = chunk.group * (job.heads / job.groups) + each;
  const float scale = float(job.scale);
  const float* dots = chunk.dots + 4 * each * CHUNK;
  for (int64_t t = 0; t < count; t++) logits[t] = scale * add_four(dots + 4 * t);
  const int64_t from = chunk.batch * job.added_batch + head * job.added_head + chunk.first;
  if (job.added) {
    const float* added = job.added + from;
    for (int64_t t = 0; t < count; t++) logits[t] += added[t];
  }
  if (job.seen) {
    const uint8_t* seen = job.seen + from;
    for (int64_t t = 0; t < count; t++) logits[t] = seen[t] ? logits[t] : -__builtin_inff();
  }
  for (int64_t t = count; t % LANES; t++) logits[t] = -__builtin_inff();
}

// Replace logits by their weights relative to the largest, which is returned with their sum.
inline void weigh(float* logits, int64_t count, float* largest, float* sum) {
  float most[LANES], weights[LANES] = {}, four[4];
  for (int64_t lane = 0; lane < LANES; lane++) most[lane] = -__builtin_inff();
  for (int64_t t = 0; t < count; t += LANES)
    for (int64_t lane = 0; lane < LANES; lane++)
      most[lane] = logits[t + lane] > most[lane] ? logits[t + lane] : most[lane];
  float top = most[0];
  for (int64_t lane = 1; lane < LANES; lane++) top = most[lane] > top ? most[lane] : top;
  const float base = top == -__builtin_inff() ? 0 : top;  // if nothing is seen
  for (int64_t t = 0; t < count; t += LANES)
    for (int64_t lane = 0; lane < LANES; lane++) {
      logits[t + lane] = exp_of_negative(logits[t + lane] - base);
      weights[lane] += logits[t + lane];
    }
  add_lanes(weights, four);
  *largest = top, *sum = add_four(four);
}

// The values weighted by what the logits have become.
template <typename Type>
void add_values(const Attention& job, const Chunk& chunk) {
  using Cell = typename Type::Cell;
  const int64_t queries = job.heads / job.groups, width = job.width, count = chunk.count;
  const Cell* values = static_cast<const Cell*>(job.v) + chunk.batch * job.v_batch +
                       chunk.group * job.v_group + chunk.first * job.v_seq;
  for (int64_t each = 0; each < queries; each++)
    for (int64_t i = 0; i < width; i++) chunk.parts[each * (2 + width) + 2 + i] = 0;
  int64_t t = 0;
  for (; t + 4 <= count; t += 4) {  // four at a time, so that sums are read and written less often
    const Cell* v = values + t * job.v_seq;
    const Cell *v1 = v + job.v_seq, *v2 = v1 + job.v_seq, *v3 = v2 + job.v_seq;
    for (int64_t each = 0; each < queries; each++) {
      const float* w = chunk.logits + each * CHUNK + t;
      const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
      float* sums = chunk.parts + each * (2 + width) + 2;
#pragma GCC ivdep
      for (int64_t i = 0; i < width; i++)
        sums[i] = sums[i] + w0 * Type::read(v[i]) + w1 * Type::read(v1[i]) +
                  w2 * Type::read(v2[i]) + w3 * Type::read(v3[i]);
    }
  }
  for (; t < count; t++)
    for (int64_t each = 0; each < queries; each++) {
      const Cell* v = values + t * job.v_seq;
      const float w = chunk.logits[each * CHUNK + t];
      float* sums = chunk.parts + each * (2 + width) + 2;
#pragma GCC ivdep
      for (int64_t i = 0; i < width; i++) sums[i] += w * Type::read(v[i]);
    }
}

// Chunks begin .. end of all groups, attended to by themselves.
template <typename Type>
void attend_chunks(const Attention& job, int64_t begin, int64_t end, float* memory) {
  const int64_t queries = job.heads / job.groups, size = 2 + job.width;
  for (int64_t task = begin; task < end; task++) {
    const int64_t row = task / job.chunks, first = task % job.chunks * CHUNK;
    Chunk chunk{row / job.groups, row % job.groups, first,
                job.keys - first < CHUNK ? job.keys - first : CHUNK};
    chunk.queries = memory, chunk.logits = memory + queries * job.dim;
    chunk.dots = chunk.logits + queries * CHUNK, chunk.parts = job.parts + task * queries * size;
    multiply_keys<Type>(job, chunk);
    for (int64_t each = 0; each < queries; each++) {
      float *logits = chunk.logits + each * CHUNK, *part = chunk.parts + each * size;
      make_logits(job, chunk, each, logits);
      weigh(logits, chunk.count, &part[0], &part[1]);
    }
    add_values<Type>(job, chunk);
  }
}

// Heads begin .. end of all rows, of which the chunks are put together.
template <typename Type>
void join_chunks(const Attention& job, int64_t begin, int64_t end, float* sums) {
  const int64_t width = job.width, queries = job.heads / job.groups;
  const int64_t size = 2 + width, step = queries * size;
  for (int64_t head = begin; head < end; head++) {
    const float* parts = job.parts + head / queries * job.chunks * step + head % queries * size;
    float top = -__builtin_inff(), total = 0;
    for (int64_t c = 0; c < job.chunks; c++) top = parts[c * step] > top ? parts[c * step] : top;
    for (int64_t i = 0; i < width; i++) sums[i] = 0;
    for (int64_t c = 0; c < job.chunks; c++) {
      const float* part = parts + c * step;
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
}

inline void attend(const Attention& job, int64_t begin, int64_t end, float* memory) {
  switch (job.type) {
    case Element::float32: return attend_chunks<Float32>(job, begin, end, memory);
    case Element::bfloat16: return attend_chunks<BFloat16>(job, begin, end, memory);
    default: return attend_chunks<Float16>(job, begin, end, memory);
  }
}

inline void join(const Attention& job, int64_t begin, int64_t end, float* memory) {
  switch (job.type) {
    case Element::float32: return join_chunks<Float32>(job, begin, end, memory);
    case Element::bfloat16: return join_chunks<BFloat16>(job, begin, end, memory);
    default: return join_chunks<Float16>(job, begin, end, memory);
  }
}
