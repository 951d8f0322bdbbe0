// The loops of the kernels, in plain C++ that compilers vectorise. library.cpp includes this file
// once for each SIMD level, inside a namespace and a target of its own: so it includes nothing.
// No multiplication is fused with an addition, so every level computes the same bits.

inline double as_double(uint64_t bits) { double x; __builtin_memcpy(&x, &bits, 8); return x; }
inline uint64_t bits_of(double x) { uint64_t bits; __builtin_memcpy(&bits, &x, 8); return bits; }
inline float as_float(uint32_t bits) { float x; __builtin_memcpy(&x, &bits, 4); return x; }
inline uint32_t bits_of(float x) { uint32_t bits; __builtin_memcpy(&bits, &x, 4); return bits; }

// What a tensor's elements are, and how they are read and rounded.

struct Float64 {
  using Cell = double;
  using Real = double;
  static double read(double x) { return x; }
  static double round(double x) { return x; }
};

struct Float32 {
  using Cell = float;
  using Real = float;
  static float read(float x) { return x; }
  static float round(float x) { return x; }
};

struct BFloat16 {
  using Cell = uint16_t;
  using Real = float;
  static float read(uint32_t x) { return as_float(x << 16); }
  static uint32_t round(float x) {  // to nearest, ties to even
    // what comes of a NaN of 16 bits has zeros below them, so nothing is carried into its exponent
    const uint32_t bits = bits_of(x);
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  }
};

struct Float16 {
  using Cell = uint16_t;
  using Real = float;
  static float read(uint32_t x) {
    // a float16's bits in the place of a float32's are 2^112 times smaller than its value
    const uint32_t size = bits_of(as_float((x & 0x7fff) << 13) * 0x1p112f);
    const uint32_t special = (x & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;  // inf and NaN
    return as_float(size | special | ((x & 0x8000) << 16));
  }
  static uint32_t round(float x) {  // to nearest, ties to even
    const uint32_t bits = bits_of(x);
    const int32_t size = bits & 0x7fffffff;
    const uint32_t normal = (size + 0xc8000fff + ((size >> 13) & 1)) >> 13;
    const uint32_t tiny = bits_of(as_float(size) + 0.5f) - 0x3f000000;  // subnormal
    const uint32_t huge = size > 0x7f800000 ? 0x7e00 : 0x7c00;
    // masks, since GCC moves the addition behind a branch and then leaves the loop to scalars
    const uint32_t is_tiny = -uint32_t(size < 0x38800000), is_huge = -uint32_t(size >= 0x47800000);
    const uint32_t rounded = (huge & is_huge) | (((tiny & is_tiny) | (normal & ~is_tiny)) & ~is_huge);
    return rounded | ((bits >> 16) & 0x8000);
  }
};

// scale cos(x) and scale sin(x) of n angles, |x| < 2^27, in float64 and then rounded to Real:
// x = k pi/2 + r with |r| <= pi/4, the Taylor series of r, and the quadrant of k.
// pi/2 is the sum of three parts, of which k times the first two is exact.
template <typename Real>
void waves(const double* angles, int64_t n, double scale, Real* cosines, Real* sines) {
  constexpr double whole = 0x1.8p52;  // added to x, its last bits are the whole number nearest to x
  for (int64_t i = 0; i < n; i++) {
    const double x = angles[i];
    const double shifted = x * 0.6366197723675814 + whole;  // 2 / pi
    const uint64_t quadrant = bits_of(shifted);
    const double k = shifted - whole;
    const double r =
        ((x - k * 0x1.921fb5p+0) - k * 0x1.110b46p-26) - k * 0x1.1a62633145c07p-54;
    const double z = r * r;
    const double sine = r + r * z * (-1. / 6 + z * (1. / 120 + z * (-1. / 5040 + z * (
        1. / 362880 + z * (-1. / 39916800 + z * (1. / 6227020800 + z * (-1. / 1307674368000)))))));
    const double cosine = 1 - z / 2 + z * z * (1. / 24 + z * (-1. / 720 + z * (1. / 40320 + z * (
        -1. / 3628800 + z * (1. / 479001600 + z * (-1. / 87178291200 + z * (
        1. / 20922789888000)))))));
    const bool odd = quadrant & 1;
    const uint64_t c = bits_of(odd ? sine : cosine) ^ (((quadrant + 1) & 2) << 62);
    const uint64_t s = bits_of(odd ? cosine : sine) ^ ((quadrant & 2) << 62);
    cosines[i] = static_cast<Real>(scale * as_double(c));
    sines[i] = static_cast<Real>(scale * as_double(s));
  }
}

// Rows of cosines and sines, one for each position. In float64 each is computed by itself. For less,
// p = far + near with far a multiple of 32 and 0 <= near < 32, and a row is that of `far` turned by
// that of `near`: neighbours share the one, and whole positions have 32 of the other. So a row
// depends on its position alone, whatever was computed before it.
template <typename Real>
struct Table {
  const Job& job;
  const int64_t pairs;
  double *w, *far_angles, *near_angles, *far_c, *far_s, *near_c, *near_s;
  double far_kept = 1e300;  // whose row there is
  uint32_t kept = 0;        // which rows of near = 0 .. 31, if there is memory for them

  Table(const Job& job, double* memory) : job(job), pairs(job.pairs) {
    w = memory, far_angles = w + pairs, near_angles = far_angles + pairs;
    far_c = near_angles + pairs, far_s = far_c + pairs;
    near_c = far_s + pairs, near_s = near_c + job.near_rows * pairs;
    for (int64_t i = 0; i < pairs; i++) w[i] = job.frequencies[job.pair(i)], far_angles[i] = 1e300;
  }

  void fill(int64_t batch, int64_t t, Real* c, Real* s) {
    const int64_t at = batch * job.batch_step + t * job.seq_step;
    if constexpr (sizeof(Real) == 8) {
      for (int64_t i = 0; i < pairs; i++) far_angles[i] = job.position_of(at, i) * w[i];
      return waves<Real>(far_angles, pairs, job.scale, c, s);
    }
    const int64_t row = job.axis ? find_on_axes(at) : find(job.position(at));
    const double *nc = near_c + row * pairs, *ns = near_s + row * pairs;
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; i++) {
      c[i] = static_cast<Real>(far_c[i] * nc[i] - far_s[i] * ns[i]);
      s[i] = static_cast<Real>(far_s[i] * nc[i] + far_c[i] * ns[i]);
    }
  }

  // Find the row of `far`, and that of `near`, whose index is returned: 0, or 1 + near if it is kept.
  int64_t find(double p) {
    const double far = __builtin_floor(p / 32) * 32, near = p - far;
    if (far != far_kept) {
      far_kept = far;
      for (int64_t i = 0; i < pairs; i++) far_angles[i] = far * w[i];
      waves<double>(far_angles, pairs, job.scale, far_c, far_s);
    }
    const bool keep = job.near_rows > 1 && near == __builtin_floor(near);
    const int64_t row = keep ? 1 + int64_t(near) : 0;
    if (keep && (kept >> (row - 1) & 1)) return row;
    for (int64_t i = 0; i < pairs; i++) near_angles[i] = near * w[i];
    waves<double>(near_angles, pairs, 1, near_c + row * pairs, near_s + row * pairs);
    if (keep) kept |= 1u << (row - 1);
    return row;
  }

  int64_t find_on_axes(int64_t at) {
    bool moved = false;
    for (int64_t i = 0; i < pairs; i++) {
      const double p = job.position_of(at, i), far = __builtin_floor(p / 32) * 32;
      moved |= far_angles[i] != far * w[i];
      far_angles[i] = far * w[i], near_angles[i] = (p - far) * w[i];
    }
    if (moved) waves<double>(far_angles, pairs, job.scale, far_c, far_s);
    waves<double>(near_angles, pairs, 1, near_c, near_s);
    return 0;
  }
};

// A pair (a, b), turned.
template <typename Real>
inline Real turn_a(Real a, Real b, Real c, Real s) { return a * c - b * s; }
template <typename Real>
inline Real turn_b(Real a, Real b, Real c, Real s) { return a * s + b * c; }

#ifdef POSENC_AVX512
// GCC makes 11 instructions of what these do in 7, and arithmetic is what bfloat16 waits for.

// The numbers in the lower halves of 32 bits, and in the upper ones.
inline __m512 read_lower(__m512i x) { return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16)); }
inline __m512 read_upper(__m512i x) {
  return _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(0xffff0000)));
}

// Both rounded as `BFloat16::round` does it: up if what is cut off is more than a half, or a half behind
// an odd number; a bit of the odd number behind the half makes it more.
inline __m512i round_both(__m512 lower, __m512 upper) {
  constexpr int CHOOSE = 0xf8;  // a | (b & c)
  const __m512i a = _mm512_castps_si512(lower), b = _mm512_castps_si512(upper);
  const __m512i kept = _mm512_ternarylogic_epi32(
      _mm512_srli_epi32(a, 16), b, _mm512_set1_epi32(0xffff0000), CHOOSE);
  const __m512i cut = _mm512_ternarylogic_epi32(
      _mm512_slli_epi32(b, 16), a, _mm512_set1_epi32(0xffff), CHOOSE);
  const __m512i one = _mm512_set1_epi16(1), half = _mm512_set1_epi16(-0x8000);
  const __mmask32 up = _mm512_cmpgt_epu16_mask(_mm512_ternarylogic_epi32(cut, kept, one, CHOOSE), half);
  return _mm512_mask_add_epi16(kept, up, kept, one);
}

// `turn_row` of bfloat16, for a multiple of 32 pairs: two channels are one number of 32 bits.
inline void turn_words(const uint16_t* x, uint16_t* y, const float* c, const float* s, int64_t pairs,
                       bool halves) {
  if (!halves) {
    for (int64_t i = 0; i < pairs; i += 16) {
      const __m512i both = _mm512_loadu_si512(x + 2 * i);
      const __m512 a = read_lower(both), b = read_upper(both);
      const __m512 cosine = _mm512_loadu_ps(c + i), sine = _mm512_loadu_ps(s + i);
      _mm512_storeu_si512(y + 2 * i, round_both(turn_a(a, b, cosine, sine), turn_b(a, b, cosine, sine)));
    }
    return;
  }
  for (int64_t i = 0, odd = pairs / 2; i < odd; i += 16) {
    const __m512i first = _mm512_loadu_si512(x + 2 * i), second = _mm512_loadu_si512(x + pairs + 2 * i);
    const __m512 a0 = read_lower(first), a1 = read_upper(first);
    const __m512 b0 = read_lower(second), b1 = read_upper(second);
    const __m512 c0 = _mm512_loadu_ps(c + i), c1 = _mm512_loadu_ps(c + odd + i);
    const __m512 s0 = _mm512_loadu_ps(s + i), s1 = _mm512_loadu_ps(s + odd + i);
    const __m512i turned_a = round_both(turn_a(a0, b0, c0, s0), turn_a(a1, b1, c1, s1));
    const __m512i turned_b = round_both(turn_b(a0, b0, c0, s0), turn_b(a1, b1, c1, s1));
    _mm512_storeu_si512(y + 2 * i, turned_a);
    _mm512_storeu_si512(y + pairs + 2 * i, turned_b);
  }
}
#endif

// One row of x, turned: pair i is channels 2i and 2i + 1, or i and i + pairs. y may be x.
// PAIRS is their number where the compiler is to know it, or 0.
template <typename Type, int64_t PAIRS>
inline void turn_row(const typename Type::Cell* x, typename Type::Cell* y,
                     const typename Type::Real* c, const typename Type::Real* s, int64_t any_pairs,
                     bool halves, bool by_two) {
  using Real = typename Type::Real;
  const int64_t pairs = PAIRS ? PAIRS : any_pairs;
#ifdef POSENC_AVX512
  if constexpr (std::is_same_v<Type, BFloat16>)
    if (pairs % 32 == 0) return turn_words(x, y, c, s, pairs, halves);
#endif
  if constexpr (sizeof(typename Type::Cell) == 2) {  // two channels are one number of 32 bits
    if (by_two) {
      const int64_t odd = pairs / 2;  // where the cosines and sines of odd pairs begin
#pragma GCC ivdep
      for (int64_t i = 0; i < pairs / 2; i++) {
        uint32_t first, second;
        __builtin_memcpy(&first, x + 2 * i, 4);
        __builtin_memcpy(&second, x + pairs + 2 * i, 4);
        const Real a0 = Type::read(first & 0xffff), a1 = Type::read(first >> 16);
        const Real b0 = Type::read(second & 0xffff), b1 = Type::read(second >> 16);
        const Real c0 = c[i], s0 = s[i], c1 = c[odd + i], s1 = s[odd + i];
        first = Type::round(turn_a(a0, b0, c0, s0)) | Type::round(turn_a(a1, b1, c1, s1)) << 16;
        second = Type::round(turn_b(a0, b0, c0, s0)) | Type::round(turn_b(a1, b1, c1, s1)) << 16;
        __builtin_memcpy(y + 2 * i, &first, 4);
        __builtin_memcpy(y + pairs + 2 * i, &second, 4);
      }
      return;
    }
    if (!halves) {
#pragma GCC ivdep
      for (int64_t i = 0; i < pairs; i++) {
        uint32_t both;
        __builtin_memcpy(&both, x + 2 * i, 4);
        const Real a = Type::read(both & 0xffff), b = Type::read(both >> 16);
        both = Type::round(turn_a(a, b, c[i], s[i])) | Type::round(turn_b(a, b, c[i], s[i])) << 16;
        __builtin_memcpy(y + 2 * i, &both, 4);
      }
      return;
    }
  }
  if (halves && x != y) {  // one half after the other, since memory is written faster from end to end
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; i++)
      y[i] = Type::round(turn_a<Real>(Type::read(x[i]), Type::read(x[i + pairs]), c[i], s[i]));
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; i++)
      y[i + pairs] = Type::round(turn_b<Real>(Type::read(x[i]), Type::read(x[i + pairs]), c[i], s[i]));
  } else if (halves) {
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; i++) {
      const Real a = Type::read(x[i]), b = Type::read(x[i + pairs]);
      y[i] = Type::round(turn_a(a, b, c[i], s[i]));
      y[i + pairs] = Type::round(turn_b(a, b, c[i], s[i]));
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; i++) {
      const Real a = Type::read(x[2 * i]), b = Type::read(x[2 * i + 1]);
      y[2 * i] = Type::round(turn_a(a, b, c[i], s[i]));
      y[2 * i + 1] = Type::round(turn_b(a, b, c[i], s[i]));
    }
  }
}

// How many rows of so many channels are asked for before they are read. Rows of several places are read by
// turns, which the processor's own guess of what comes next does not keep up with: rotations take 0.9 of the
// time that they take without.
template <typename Cell>
int64_t rows_ahead(int64_t width) { return 1 + AHEAD / (width * int64_t(sizeof(Cell)) + 1); }

// Ask for the row so many channels ahead of x; there need not be one.
template <typename Cell>
inline void fetch_row(const Cell* x, int64_t ahead, int64_t width) {
  const uintptr_t row = reinterpret_cast<uintptr_t>(x) + ahead * int64_t(sizeof(Cell));
  for (int64_t at = 0; at < width * int64_t(sizeof(Cell)); at += LINE)
    __builtin_prefetch(reinterpret_cast<const void*>(row + at));
}

// Write a row past the caches: it begins and ends on a line. A cache first reads the memory that it is to
// hold, and what is larger than caches pushes itself out of them: writing around them takes 0.75 of the time.
template <typename Cell>
inline void stream([[maybe_unused]] const Cell* row, [[maybe_unused]] Cell* y,
                   [[maybe_unused]] int64_t width) {
#ifdef POSENC_X86
  const auto* from = reinterpret_cast<const __m128i*>(row);
  auto* to = reinterpret_cast<__m128i*>(y);
  for (int64_t at = 0; at < width * int64_t(sizeof(Cell)); at += sizeof(__m128i))
    _mm_stream_si128(to++, _mm_loadu_si128(from++));
#endif
}

// Let other threads see what was streamed.
inline void end_stream() {
#ifdef POSENC_X86
  _mm_sfence();
#endif
}

// How rows lie in memory: one after the other, apart, or as part of longer rows whose rest is copied; or they
// are written past the caches.
enum class Rows { dense, apart, partial, streamed };

// Rows of `COUNT` places whose channels are neighbours in memory, turned. What differs between jobs but
// not between rows is an argument of the template: with it in the loop, bfloat16 takes 1.2 times as long, and
// 1.05 where the compiler does not know that rows are dense, since it then lacks registers for addresses.
// Nothing that is written is among the waves: so those of bfloat16 stay in registers from place to place, if
// the compiler knows how many there are and rows are not streamed.
template <typename Type, int64_t PAIRS, int64_t COUNT, bool HALVES, Rows ROWS>
void turn_rows_of(const Job& job, const typename Type::Cell* const* xs, typename Type::Cell* const* ys,
                  typename Type::Cell* row, const typename Type::Real* __restrict waves, int64_t rows) {
  using Cell = typename Type::Cell;
  constexpr bool DENSE = ROWS == Rows::dense, PARTIAL = ROWS == Rows::partial;
  const int64_t pairs = PAIRS ? PAIRS : job.pairs, width = 2 * pairs;
  const int64_t start = DENSE ? 0 : job.start, rest = start + width, dim = job.dim;
  const int64_t in_seq = DENSE ? width : job.in_seq, out_seq = DENSE ? width : job.out_seq;
  const int64_t ahead = rows_ahead<Cell>(width) * in_seq;
  const bool by_two = job.by_two;
  const auto turn = [&](const Cell*& x, Cell*& y) __attribute__((always_inline)) {
    Cell* const to = ROWS == Rows::streamed ? row : y + start;
    fetch_row(x + start, ahead, width);
    turn_row<Type, PAIRS>(x + start, to, waves, waves + pairs, pairs, HALVES, by_two);
    for (int64_t i = 0; PARTIAL && i < start; i++) y[i] = x[i];
    for (int64_t i = rest; PARTIAL && i < dim; i++) y[i] = x[i];
    if (ROWS == Rows::streamed) stream(row, y, width);
    x += in_seq, y += out_seq;
  };
  // by themselves, since the compiler leaves arrays in memory
  constexpr int64_t SECOND = COUNT > 1, THIRD = COUNT > 2 ? 2 : 0, FOURTH = COUNT > 3 ? 3 : 0;
  const Cell *x_0 = xs[0], *x_1 = xs[SECOND], *x_2 = xs[THIRD], *x_3 = xs[FOURTH];
  Cell *y_0 = ys[0], *y_1 = ys[SECOND], *y_2 = ys[THIRD], *y_3 = ys[FOURTH];
  for (int64_t t = 0; t < rows; t++, waves += width) {
    turn(x_0, y_0);
    if constexpr (COUNT > 1) turn(x_1, y_1);
    if constexpr (COUNT > 2) turn(x_2, y_2), turn(x_3, y_3);
  }
}

template <typename Type, int64_t PAIRS, int64_t COUNT, bool HALVES>
auto choose_rows(const Job& job) {
  const bool whole = job.width == job.dim;
  if (job.streams) return turn_rows_of<Type, PAIRS, COUNT, HALVES, Rows::streamed>;
  if (!whole && job.in != job.out) return turn_rows_of<Type, PAIRS, COUNT, HALVES, Rows::partial>;
  if constexpr (PAIRS)
    if (whole && job.in_seq == job.dim && job.out_seq == job.dim)
      return turn_rows_of<Type, PAIRS, COUNT, HALVES, Rows::dense>;
  return turn_rows_of<Type, PAIRS, COUNT, HALVES, Rows::apart>;
}

template <typename Type, int64_t PAIRS>
void turn_rows(const Job& job, const Places<typename Type::Cell>& places,
               const typename Type::Real* waves, int64_t rows, typename Type::Cell* row) {
  const auto *x = places.x, *end = x + places.count;
  const auto* y = places.y;
  const auto turn = [&](auto count) {
    constexpr int64_t COUNT = decltype(count)::value;
    const auto turn_some = job.halves ? choose_rows<Type, PAIRS, COUNT, true>(job)
                                      : choose_rows<Type, PAIRS, COUNT, false>(job);
    for (; end - x >= COUNT; x += COUNT, y += COUNT) turn_some(job, x, y, row, waves, rows);
  };
  if constexpr (sizeof(typename Type::Cell) == 2) turn(std::integral_constant<int64_t, 4>());
  turn(std::integral_constant<int64_t, 2>());
  turn(std::integral_constant<int64_t, 1>());
}

// The sine and the cosine of each pair as they are added to a row: side by side, or all sines first.
// With an odd width the last pair has only its sine.
template <typename Real>
void lay_out(const Real* c, const Real* s, int64_t width, bool halves, Real* e) {
  const int64_t sines = (width + 1) / 2, cosines = width / 2;
  if (halves) {
    for (int64_t i = 0; i < sines; i++) e[i] = s[i];
    for (int64_t i = 0; i < cosines; i++) e[sines + i] = c[i];
  } else {
    for (int64_t i = 0; i < cosines; i++) e[2 * i] = s[i], e[2 * i + 1] = c[i];
    if (sines > cosines) e[width - 1] = s[cosines];
  }
}

// factor * x plus what is laid out.
template <typename Type>
inline void add_row(const typename Type::Cell* x, typename Type::Cell* y,
                    const typename Type::Real* e, int64_t width, typename Type::Real factor) {
#pragma GCC ivdep
  for (int64_t i = 0; i < width; i++) y[i] = Type::round(factor * Type::read(x[i]) + e[i]);
}

// The same rows, with sines and cosines added.
template <typename Type>
void add_rows(const Job& job, const Places<typename Type::Cell>& places,
              const typename Type::Real* e, int64_t rows, typename Type::Cell* row) {
  const typename Type::Real factor = static_cast<typename Type::Real>(job.factor);
  const int64_t ahead = rows_ahead<typename Type::Cell>(job.width) * job.in_seq;
  for (int64_t t = 0; t < rows; t++, e += job.width)
    for (int64_t each = 0; each < places.count; each++) {
      const typename Type::Cell* x = places.x[each] + t * job.in_seq;
      fetch_row(x, ahead, job.width);
      typename Type::Cell* y = places.y[each] + t * job.out_seq;
      add_row<Type>(x, job.streams ? row : y, e, job.width, factor);
      if (job.streams) stream(row, y, job.width);
    }
}

// Rows whose channels are apart in memory: each is gathered into `row`, computed and spread out.
template <typename Type>
void run_apart(const Job& job, const Places<typename Type::Cell>& places,
               const typename Type::Real* waves, int64_t rows, typename Type::Cell* row) {
  const int64_t width = job.width, start = job.start, rest = start + width;
  const typename Type::Real factor = static_cast<typename Type::Real>(job.factor);
  for (int64_t t = 0; t < rows; t++, waves += job.row_size())
    for (int64_t each = 0; each < places.count; each++) {
      const typename Type::Cell* x = places.x[each] + t * job.in_seq;
      typename Type::Cell* y = places.y[each] + t * job.out_seq;
      for (int64_t i = 0; i < width; i++) row[i] = x[(start + i) * job.in_channel];
      if (job.adds) add_row<Type>(row, row, waves, width, factor);
      else turn_row<Type, 0>(row, row, waves, waves + job.pairs, job.pairs, job.halves, job.by_two);
      for (int64_t i = 0; i < width; i++) y[(start + i) * job.out_channel] = row[i];
      if (job.in == job.out) continue;
      for (int64_t i = 0; i < start; i++) y[i * job.out_channel] = x[i * job.in_channel];
      for (int64_t i = rest; i < job.dim; i++) y[i * job.out_channel] = x[i * job.in_channel];
    }
}

// How rows with so many pairs are turned.
template <typename Type>
auto choose_turn(int64_t pairs) {
  return pairs == 64 ? turn_rows<Type, 64> : pairs == 32 ? turn_rows<Type, 32> : turn_rows<Type, 0>;
}

// The rows of one block of positions, for outer indices begin .. end.
template <typename Type>
void run_block(const Job& job, int64_t batch, int64_t at, int64_t rows, int64_t begin, int64_t end,
               const typename Type::Real* waves, typename Type::Cell* row) {
  using Cell = typename Type::Cell;
  using Real = typename Type::Real;
  const bool close = job.in_channel == 1 && job.out_channel == 1;
  const auto turn = choose_turn<Type>(job.pairs);

  // more of them push each other out of a cache
  const int64_t together = sizeof(Cell) == 2 && !job.adds ? TOGETHER : TOGETHER / 2;
  const auto run_rows = [&](int64_t outer, int64_t t, int64_t count) {
    Places<Cell> places{};
    for (; places.count < together && outer < end; places.count++, outer++) {
      int64_t from, to;
      job.place(batch, outer, at + t, &from, &to);
      places.x[places.count] = static_cast<const Cell*>(job.in) + from;
      places.y[places.count] = static_cast<Cell*>(job.out) + to;
    }
    const Real* first = waves + t * job.row_size();
    if (!close) run_apart<Type>(job, places, first, count, row);
    else if (job.adds) add_rows<Type>(job, places, first, count, row);
    else turn(job, places, first, count, row);
  };

  if (job.outer_is_closer) {
    for (int64_t t = 0; t < rows; t++)
      for (int64_t o = begin; o < end; o += together) run_rows(o, t, 1);
  } else {
    for (int64_t o = begin; o < end; o += together) run_rows(o, 0, rows);
  }
  if (job.streams) end_stream();
}

// The loops for rows of this type. Float32 waits for memory, which takes longer if 64 bytes are written at a
// time, first of one half of a row and then of the other.
template <typename Type>
auto choose_loops() {
  if constexpr (std::is_same_v<Type, Float32>) return narrow::run_block<narrow::Float32>;
  else return run_block<Type>;
}

// Tasks first .. last of a job: each is a block of positions for one part of the outer indices,
// the block varying fastest. Cosines and sines depend on the position alone, never on how tasks are
// shared out.
template <typename Type>
void run_as(const Job& job, int64_t first, int64_t last, double* memory) {
  using Real = typename Type::Real;
  Table<Real> table(job, memory);
  const int64_t pairs = job.pairs;
  Real* waves = reinterpret_cast<Real*>(table.near_s + job.near_rows * pairs);
  Real* one = waves + 2 * job.block * pairs;  // cosines and sines of a row, before they are laid out
  typename Type::Cell* row = reinterpret_cast<typename Type::Cell*>(one + 2 * pairs);
  for (int64_t task = first; task < last; task++) {
    const int64_t part = task / job.blocks % job.parts, batch = task / job.blocks / job.parts;
    const int64_t at = task % job.blocks * job.block;
    const int64_t rows = job.seq - at < job.block ? job.seq - at : job.block;
    for (int64_t t = 0; t < rows; t++) {
      Real* c = job.adds ? one : waves + t * job.row_size();
      table.fill(batch, at + t, c, c + pairs);
      if (job.adds) lay_out(one, one + pairs, job.width, job.halves, waves + t * job.row_size());
    }
    for (const Job* each = &job; each; each = each->also)
      choose_loops<Type>()(*each, batch, at, rows, each->outer * part / job.parts,
                           each->outer * (part + 1) / job.parts, waves, row);
  }
}

// Float64 is left to a level without fused instructions: where there are some, GCC 12 turns neighbouring
// pairs by them, whatever -ffp-contract is.
inline void run(const Job& job, int64_t first, int64_t last, double* memory) {
  switch (job.type) {
    case Element::float64: return narrow::run_as<narrow::Float64>(job, first, last, memory);
    case Element::float32: return run_as<Float32>(job, first, last, memory);
    case Element::bfloat16: return run_as<BFloat16>(job, first, last, memory);
    case Element::float16: return run_as<Float16>(job, first, last, memory);
  }
}
