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
    const uint32_t bits = bits_of(x);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded;
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
    const uint32_t bits = bits_of(x), size = bits & 0x7fffffff;
    const uint32_t normal = (size + 0xc8000fff + ((size >> 13) & 1)) >> 13;
    const uint32_t tiny = bits_of(as_float(size) + 0.5f) - 0x3f000000;  // subnormal
    const uint32_t huge = size > 0x7f800000 ? 0x7e00 : 0x7c00;
    const uint32_t rounded = size >= 0x47800000 ? huge : size < 0x38800000 ? tiny : normal;
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

// One row of x, turned: pair i is channels 2i and 2i + 1, or i and i + pairs. y may be x.
template <typename Type>
void turn_row(const typename Type::Cell* x, typename Type::Cell* y, const typename Type::Real* c,
              const typename Type::Real* s, int64_t pairs, bool halves) {
  using Real = typename Type::Real;
  if (halves) {
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; i++) {
      const Real a = Type::read(x[i]), b = Type::read(x[i + pairs]);
      y[i] = Type::round(a * c[i] - b * s[i]);
      y[i + pairs] = Type::round(a * s[i] + b * c[i]);
    }
  } else if constexpr (sizeof(typename Type::Cell) == 2) {  // a pair is one number of 32 bits
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; i++) {
      uint32_t both;
      __builtin_memcpy(&both, x + 2 * i, 4);
      const Real a = Type::read(both & 0xffff), b = Type::read(both >> 16);
      both = Type::round(a * c[i] - b * s[i]) | Type::round(a * s[i] + b * c[i]) << 16;
      __builtin_memcpy(y + 2 * i, &both, 4);
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; i++) {
      const Real a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = a * c[i] - b * s[i];
      y[2 * i + 1] = a * s[i] + b * c[i];
    }
  }
}

// factor * x plus the sine and the cosine of each pair: side by side, or all sines first.
// With an odd dim the last pair has only its sine.
template <typename Type>
void add_row(const typename Type::Cell* x, typename Type::Cell* y, const typename Type::Real* c,
             const typename Type::Real* s, int64_t dim, bool halves, double factor) {
  const typename Type::Real by = static_cast<typename Type::Real>(factor);
  const int64_t sines = (dim + 1) / 2, cosines = dim / 2;
  if (halves) {
    for (int64_t i = 0; i < sines; i++) y[i] = Type::round(by * Type::read(x[i]) + s[i]);
    for (int64_t i = 0; i < cosines; i++)
      y[sines + i] = Type::round(by * Type::read(x[sines + i]) + c[i]);
  } else {
    for (int64_t i = 0; i < cosines; i++) {
      y[2 * i] = Type::round(by * Type::read(x[2 * i]) + s[i]);
      y[2 * i + 1] = Type::round(by * Type::read(x[2 * i + 1]) + c[i]);
    }
    if (sines > cosines) y[dim - 1] = Type::round(by * Type::read(x[dim - 1]) + s[cosines]);
  }
}

// Tasks first .. last of a job: each is one outer index of one block of positions, the outer index
// varying fastest. Cosines and sines depend on the position alone, never on how tasks are shared out.
template <typename Type>
void run_as(const Job& job, int64_t first, int64_t last, char* memory) {
  using Cell = typename Type::Cell;
  using Real = typename Type::Real;
  const int64_t pairs = job.pairs, size = job.block;
  double* angles = reinterpret_cast<double*>(memory);
  Real* cosines = reinterpret_cast<Real*>(angles + size * pairs);
  Real* sines = cosines + size * pairs;
  Cell* row = reinterpret_cast<Cell*>(sines + size * pairs);
  const Cell* in = static_cast<const Cell*>(job.in);
  Cell* out = static_cast<Cell*>(job.out);
  const int64_t width = job.width, start = job.start, rest = start + width;

  const auto run_row = [&](int64_t batch, int64_t outer, int64_t position, int64_t t) {
    int64_t from, to;
    job.place(batch, outer, position, &from, &to);
    const Cell* x = in + from;
    Cell* y = out + to;
    const Real *c = cosines + t * pairs, *s = sines + t * pairs;
    const bool close = job.in_channel == 1 && job.out_channel == 1;
    const Cell* source = close ? x + start : row;
    Cell* target = close ? y + start : row;
    if (!close)
      for (int64_t i = 0; i < width; i++) row[i] = x[(start + i) * job.in_channel];
    if (job.adds) add_row<Type>(source, target, c, s, width, job.halves, job.factor);
    else turn_row<Type>(source, target, c, s, pairs, job.halves);
    if (!close)
      for (int64_t i = 0; i < width; i++) y[(start + i) * job.out_channel] = row[i];
    if (width == job.dim || in == out) return;
    for (int64_t i = 0; i < start; i++) y[i * job.out_channel] = x[i * job.in_channel];
    for (int64_t i = rest; i < job.dim; i++) y[i * job.out_channel] = x[i * job.in_channel];
  };

  while (first < last) {
    const int64_t block = first / job.outer, begin = first % job.outer;
    const int64_t end = last - first < job.outer - begin ? begin + last - first : job.outer;
    const int64_t batch = block / job.blocks, at = block % job.blocks * size;
    const int64_t rows = job.seq - at < size ? job.seq - at : size;
    for (int64_t t = 0; t < rows; t++) job.find_angles(batch, at + t, angles + t * pairs);
    waves<Real>(angles, rows * pairs, job.scale, cosines, sines);
    if (job.outer_is_closer) {
      for (int64_t t = 0; t < rows; t++)
        for (int64_t o = begin; o < end; o++) run_row(batch, o, at + t, t);
    } else {
      for (int64_t o = begin; o < end; o++)
        for (int64_t t = 0; t < rows; t++) run_row(batch, o, at + t, t);
    }
    first += end - begin;
  }
}

inline void run(const Job& job, int64_t first, int64_t last, char* memory) {
  switch (job.type) {
    case Element::float64: return run_as<Float64>(job, first, last, memory);
    case Element::float32: return run_as<Float32>(job, first, last, memory);
    case Element::bfloat16: return run_as<BFloat16>(job, first, last, memory);
    case Element::float16: return run_as<Float16>(job, first, last, memory);
  }
}
