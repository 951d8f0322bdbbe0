// What a kernel is given. `Job` is one tensor that it goes through: x (batch or 1, outer …, seq, dim) in
// any strides, the tensor that it writes (which may be x), and the position of each row.

#pragma once

#include <cstdint>
#include <type_traits>

constexpr int64_t MOST_AXES = 16;
constexpr int64_t TOGETHER = 4;     // outer indices whose rows are computed side by side, at most
constexpr int64_t AHEAD = 1 << 11;  // bytes of a place that are asked for before they are read
constexpr int64_t LINE = 64;        // bytes that memory is read by
constexpr int64_t LARGE = 1 << 24;  // bytes of x that caches are not taken to hold beside its result
constexpr double LIMIT = 16777216;  // positions must be below 2^24 in size
constexpr double FASTEST = 8;       // radians per position, so that angles are below 2^27

enum class Element { float64, float32, bfloat16, float16 };
enum class Number { int64, int32, float64, float32 };

struct Job {
  const Job* also;  // one that differs in its tensor alone, and shares the cosines and sines
  const void* in;
  void* out;
  Element type;
  int64_t dim, position_axes;  // those that the encoding has are set first; 0: any
  int64_t seq, in_seq, out_seq, in_channel, out_channel;
  int64_t batches, in_batch, out_batch;  // 1 batch, unless each has positions of its own
  int64_t axes, outer, sizes[MOST_AXES], in_steps[MOST_AXES], out_steps[MOST_AXES];
  int64_t block, blocks, parts;  // positions at a time; how often; shares of the outer indices
  int64_t near_rows;             // that a Table has memory for: 1, or 33
  bool outer_is_closer;          // in memory, than the positions
  bool streams;                  // rows are written past the caches

  const void* positions;
  Number number;
  int64_t batch_step, seq_step, axis_step;

  const double* frequencies;  // of each pair, in radians per position
  const int64_t* axis;        // of each pair; null: positions are plain numbers
  int64_t pairs, start, width;  // channels start .. start + width change
  double scale;                 // on cosines and sines
  double factor;                // on x, where sines are added to it
  bool adds, halves, back;
  bool by_two;  // cosines and sines of even pairs come first, then those of odd ones

  void place(int64_t batch, int64_t index, int64_t t, int64_t* from, int64_t* to) const {
    *from = batch * in_batch + t * in_seq;
    *to = batch * out_batch + t * out_seq;
    for (int64_t d = axes - 1; d >= 0; d--) {
      const int64_t i = d ? index % sizes[d] : index;
      if (d) index /= sizes[d];
      *from += i * in_steps[d];
      *to += i * out_steps[d];
    }
  }

  double position(int64_t at) const {
    double p = 0;
    switch (number) {
      case Number::int64: p = double(static_cast<const int64_t*>(positions)[at]); break;
      case Number::int32: p = static_cast<const int32_t*>(positions)[at]; break;
      case Number::float64: p = static_cast<const double*>(positions)[at]; break;
      case Number::float32: p = static_cast<const float*>(positions)[at]; break;
    }
    return back ? -p : p;
  }

  // Whether every position that a pair follows is in range; not, if one is NaN.
  bool positions_are_exact() const {
    bool exact = true;
    for (int64_t batch = 0; batch < batches; batch++)
      for (int64_t t = 0; t < seq; t++) {
        const int64_t at = batch * batch_step + t * seq_step;
        for (int64_t i = 0; i < (axis ? pairs : 1); i++) {
          const double p = position(at + (axis ? axis[i] * axis_step : 0));
          exact &= p > -LIMIT && p < LIMIT;
        }
      }
    return exact;
  }

  // The i-th pair whose cosine is stored: even ones first, where two are computed at a time.
  int64_t pair(int64_t i) const {
    const int64_t even = pairs / 2;
    return !by_two ? i : i < even ? 2 * i : 2 * (i - even) + 1;
  }

  // Numbers in a row of cosines and, behind them, sines; or of what is added.
  int64_t row_size() const { return adds ? width : 2 * pairs; }

  double position_of(int64_t at, int64_t i) const {
    return position(at + (axis ? axis[pair(i)] * axis_step : 0));
  }
};

// Places in memory that rows are read from and written to, of neighbouring outer indices. Their rows
// of the same position go together: cosines and sines are read once for all of them.
template <typename Cell>
struct Places {
  int64_t count;
  const Cell* x[TOGETHER];
  Cell* y[TOGETHER];
};

constexpr int64_t CHUNK = 256;  // keys that have a softmax of their own, before all are put together

// `Attention` is one query of each head, and the keys and values that it attends to: q (batch, head, dim), k
// and v (batch, group, key, dim or width), whose channels are neighbours in memory; out is contiguous.
struct Attention {
  Element type;
  const void *q, *k, *v;
  void* out;
  int64_t batches, heads, groups, keys, dim, width;
  int64_t q_batch, q_head, k_batch, k_group, k_seq, v_batch, v_group, v_seq;
  const float* added;   // to the logits, or null
  const uint8_t* seen;  // 0 where a key is hidden, or null
  int64_t added_batch, added_head;
  double scale;
  int64_t chunks;  // of keys
  float* parts;    // of each row, group, chunk and query: largest logit, sum of weights, values
};
