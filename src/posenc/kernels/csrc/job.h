// One tensor that a kernel goes through: x (batch or 1, outer …, seq, dim) in any strides, the
// tensor that it writes (which may be x), and the position of each row.

#pragma once

#include <cstdint>

constexpr int64_t BLOCK = 32;       // positions whose cosines and sines are computed at a time
constexpr int64_t MOST_AXES = 16;
constexpr double LIMIT = 16777216;  // positions must be below 2^24 in size
constexpr double FASTEST = 8;       // radians per position, so that angles are below 2^27

enum class Element { float64, float32, bfloat16, float16 };
enum class Number { int64, int32, float64, float32 };

struct Job {
  const void* in;
  void* out;
  Element type;
  int64_t dim, position_axes;  // those that the encoding has are set first; 0: any
  int64_t seq, in_seq, out_seq, in_channel, out_channel;
  int64_t batches, in_batch, out_batch;  // 1 batch, unless each has positions of its own
  int64_t axes, outer, sizes[MOST_AXES], in_steps[MOST_AXES], out_steps[MOST_AXES];
  int64_t block, blocks;
  bool outer_is_closer;  // in memory, than the positions

  const void* positions;
  Number number;
  int64_t batch_step, seq_step, axis_step;

  const double* frequencies;  // of each pair, in radians per position
  const int64_t* axis;        // of each pair; null: positions are plain numbers
  int64_t pairs, start, width;  // channels start .. start + width change
  double scale;                 // on cosines and sines
  double factor;                // on x, where sines are added to it
  bool adds, halves, back;

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

  void find_angles(int64_t batch, int64_t t, double* angles) const {
    const int64_t at = batch * batch_step + t * seq_step;
    if (axis == nullptr) {
      const double p = position(at);
      for (int64_t i = 0; i < pairs; i++) angles[i] = p * frequencies[i];
    } else {
      for (int64_t i = 0; i < pairs; i++)
        angles[i] = position(at + axis[i] * axis_step) * frequencies[i];
    }
  }
};
