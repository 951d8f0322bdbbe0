// Rotation of queries and keys, the addition of sinusoids, and one query's attention, on a CPU. Built on
// PyTorch's stable ABI, so that one build serves later versions. posenc/kernels/__init__.py has the
// Python side.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <tuple>

#ifdef __linux__
#include <sys/mman.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define POSENC_X86  // with GCC, whose pragmas choose what a function is compiled for
#include <immintrin.h>
#endif

#include "job.h"

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

constexpr int64_t GRAIN = 1 << 15;  // elements that are worth a thread
constexpr size_t FEW = 1 << 11;     // numbers that a stack has room for
constexpr size_t KEPT = 1 << 20;    // that a thread keeps from call to call, at most
constexpr int64_t MANY = 1 << 18;   // cosines and sines that a thread keeps, of some rows at least:
constexpr int64_t SOME = 32;
constexpr int64_t FEW_OUTER = 16;

namespace plain {
namespace narrow = plain;  // the level that leaves some of its loops to a lower one says here to which
#include "loops.h"
#include "attention.h"
}

#ifdef POSENC_X86
#pragma GCC push_options
#pragma GCC target("avx2")
namespace avx2 {
namespace narrow = avx2;
#include "loops.h"
#include "attention.h"
}
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#define POSENC_AVX512
namespace avx512 {
namespace narrow = avx2;
#include "loops.h"
#include "attention.h"
}
#undef POSENC_AVX512
#pragma GCC pop_options
#endif

struct Level {
  const char* name;
  void (*run)(const Job&, int64_t, int64_t, double*);
  void (*attend)(const Attention&, int64_t, int64_t, float*);
  void (*join)(const Attention&, int64_t, int64_t, float*);
};

// The best level that this processor has, or the lower one that POSENC_KERNELS names.
Level choose_level() {
#ifdef POSENC_X86
  const char* most = std::getenv("POSENC_KERNELS");
  const auto at_most = [most](const char* name) { return most && !std::strcmp(most, name); };
  if (!at_most("plain")) {
    if (!at_most("avx2") && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      return {"avx512", avx512::run, avx512::attend, avx512::join};
    if (__builtin_cpu_supports("avx2")) return {"avx2", avx2::run, avx2::attend, avx2::join};
  }
#endif
  return {"plain", plain::run, plain::attend, plain::join};
}

const Level level = choose_level();

Element element_of(const Tensor& x) {
  switch (x.scalar_type()) {
    case ScalarType::Double: return Element::float64;
    case ScalarType::Float: return Element::float32;
    case ScalarType::BFloat16: return Element::bfloat16;
    case ScalarType::Half: return Element::float16;
    default: STD_TORCH_CHECK(false, "x must be float64, float32, bfloat16 or float16");
  }
}

Number number_of(const Tensor& positions) {
  switch (positions.scalar_type()) {
    case ScalarType::Long: return Number::int64;
    case ScalarType::Int: return Number::int32;
    case ScalarType::Double: return Number::float64;
    case ScalarType::Float: return Number::float32;
    default: STD_TORCH_CHECK(false, "positions must be int64, int32, float64 or float32");
  }
}

void check_frequencies(const Job& job) {
  bool slow = true;
  for (int64_t i = 0; i < job.pairs; i++)
    slow &= job.frequencies[i] >= -FASTEST && job.frequencies[i] <= FASTEST;
  STD_TORCH_CHECK(slow, "frequencies must be at most 8 radians per position in size");
}

Job job_of(const Tensor& frequencies, const std::optional<Tensor>& axis, bool halves) {
  Job job{};
  STD_TORCH_CHECK(frequencies.is_cpu() && frequencies.dim() == 1 && frequencies.is_contiguous() &&
                      frequencies.scalar_type() == ScalarType::Double,
                  "frequencies must be (pair,) in float64, on the CPU");
  job.frequencies = static_cast<const double*>(frequencies.const_data_ptr());
  job.pairs = frequencies.size(0);
  job.scale = 1, job.halves = halves;
  check_frequencies(job);
  if (!axis) return job;
  STD_TORCH_CHECK(axis->is_cpu() && axis->dim() == 1 && axis->size(0) == job.pairs &&
                      axis->is_contiguous() && axis->scalar_type() == ScalarType::Long,
                  "axis must be (pair,) in int64, on the CPU");
  job.axis = static_cast<const int64_t*>(axis->const_data_ptr());
  return job;
}

Job rotation_of(const Tensor& frequencies, const std::optional<Tensor>& axis, double scale,
                bool halves, int64_t start, bool back) {
  Job job = job_of(frequencies, axis, halves);
  job.scale = scale, job.start = start, job.back = back;
  job.width = 2 * job.pairs;
  return job;
}

Job addition_of(const Tensor& frequencies, double factor, bool halves, int64_t width) {
  Job job = job_of(frequencies, std::nullopt, halves);
  job.factor = factor, job.adds = true;
  job.width = width;
  return job;
}

// All that a call has beside x and its positions, in one tensor, as `pack` of core/fused_torch.py
// writes it: PyTorch takes as long to hand over a number or a flag as to rotate eight heads.
Job unpack(const Tensor& packed, bool adds) {
  enum { DIM, AXES, START, FACTOR, HALVES, BACK, HEADER };
  STD_TORCH_CHECK(packed.is_cpu() && packed.dim() == 1 && packed.is_contiguous() &&
                      packed.scalar_type() == ScalarType::Double && packed.size(0) >= HEADER,
                  "packed must be (number,) in float64, on the CPU");
  const double* numbers = static_cast<const double*>(packed.const_data_ptr());
  const int64_t rest = packed.size(0) - HEADER;
  Job job{};
  job.dim = int64_t(numbers[DIM]), job.position_axes = int64_t(numbers[AXES]);
  job.frequencies = numbers + HEADER;
  job.pairs = job.position_axes ? rest / 2 : rest;
  if (job.position_axes)  // the bits of whole numbers
    job.axis = reinterpret_cast<const int64_t*>(job.frequencies + job.pairs);
  job.halves = numbers[HALVES] != 0, job.back = numbers[BACK] != 0, job.adds = adds;
  job.scale = adds ? 1 : numbers[FACTOR], job.factor = numbers[FACTOR];
  job.start = int64_t(numbers[START]), job.width = adds ? job.dim : 2 * job.pairs;
  check_frequencies(job);
  return job;
}

void set_tensors(Job& job, const Tensor& x, const Tensor& out) {
  const int64_t rank = x.dim();
  STD_TORCH_CHECK(x.is_cpu() && rank >= 2 && rank <= MOST_AXES, "x must be (…, seq, dim), on the CPU");
  job.in = x.const_data_ptr();
  job.out = out.mutable_data_ptr();
  job.type = element_of(x);
  const int64_t dim = x.size(rank - 1);
  STD_TORCH_CHECK(!job.dim || job.dim == dim, "x must have the channels of the encoding");
  job.seq = x.size(rank - 2), job.dim = dim;
  job.in_seq = x.stride(rank - 2), job.out_seq = out.stride(rank - 2);
  job.in_channel = x.stride(rank - 1), job.out_channel = out.stride(rank - 1);
  STD_TORCH_CHECK(job.start >= 0 && job.width >= 0 && job.start <= job.dim - job.width,
                  "x must have a channel for each frequency");
  STD_TORCH_CHECK(!job.adds || job.pairs == (job.width + 1) / 2,
                  "x must have two channels for each frequency");
}

void set_positions(Job& job, const Tensor& x, const Tensor& positions) {
  const int64_t rank = positions.dim() - (job.axis != nullptr);
  STD_TORCH_CHECK(positions.is_cpu() && (rank == 1 || (rank == 2 && x.dim() > 2)) &&
                      positions.size(rank - 1) == job.seq,
                  "positions must be (seq,) or (batch, seq), on the CPU");
  job.positions = positions.const_data_ptr();
  job.number = number_of(positions);
  const bool by_row = rank == 2 && positions.size(0) != 1;
  STD_TORCH_CHECK(!by_row || positions.size(0) == x.size(0), "positions must have the rows of x");
  job.batch_step = by_row ? positions.stride(0) : 0;
  job.seq_step = positions.stride(rank - 1);
  job.axis_step = job.axis ? positions.stride(rank) : 0;
  STD_TORCH_CHECK(!job.position_axes || job.position_axes == positions.size(rank),
                  "positions must have the axes of the encoding");
  for (int64_t i = 0; job.axis && i < job.pairs; i++)
    STD_TORCH_CHECK(job.axis[i] >= 0 && job.axis[i] < positions.size(rank),
                    "positions must have every axis that a pair follows");
  job.batches = by_row ? x.size(0) : 1;
}

int64_t at_least(int64_t x, int64_t least) { return x < least ? least : x; }
int64_t at_most(int64_t x, int64_t most) { return x > most ? most : x; }
int64_t divide_up(int64_t x, int64_t y) { return (x + y - 1) / y; }

// Whether the rows of x are to be written past the caches, and can be: as whole lines of memory.
bool can_stream(const Job& job, const Tensor& x, const Tensor& out) {
#ifdef POSENC_X86
  const int64_t bytes = x.element_size();
  bool in_lines = reinterpret_cast<uintptr_t>(job.out) % LINE == 0 && job.dim * bytes % LINE == 0;
  for (int64_t d = 0; d < out.dim() - 1; d++) in_lines &= out.stride(d) * bytes % LINE == 0;
  return in_lines && job.in != job.out && job.in_channel == 1 && job.out_channel == 1 &&
         job.width == job.dim && x.numel() * bytes >= LARGE;
#else
  return false;
#endif
}

void set_loops(Job& job, const Tensor& x, const Tensor& out) {
  const bool by_row = job.batch_step || job.batches > 1;
  job.in_batch = by_row ? x.stride(0) : 0, job.out_batch = by_row ? out.stride(0) : 0;
  job.axes = 0, job.outer = 1;
  int64_t closest = INT64_MAX;
  for (int64_t d = by_row; d < x.dim() - 2; d++) {
    if (x.size(d) == 1) continue;
    const int64_t axis = job.axes++;
    job.sizes[axis] = x.size(d);
    job.in_steps[axis] = x.stride(d), job.out_steps[axis] = out.stride(d);
    job.outer *= x.size(d);
    if (x.stride(d) < closest) closest = x.stride(d);
  }
  job.outer_is_closer = closest < job.in_seq;
  job.by_two = job.halves && !job.adds && job.pairs % 2 == 0 &&
               (job.type == Element::bfloat16 || job.type == Element::float16);
  job.near_rows = job.batches * job.seq < SOME ? 1 : 33;
  job.streams = can_stream(job, x, out);
  // Threads share out the positions where there are many, where few outer indices share them, or where those
  // are closer in memory; they take many at a time, so that each goes through memory of its own from end to
  // end, several outer indices side by side, which read cosines once. Else they share out the outer indices,
  // though each thread then computes all cosines.
  const int64_t threads = torch::stable::get_num_threads(), batches = at_least(job.batches, 1);
  const bool by_position =
      job.outer_is_closer || job.outer < FEW_OUTER || job.seq >= SOME * threads;
  job.parts = by_position ? 1 : at_most(divide_up(threads, batches), job.outer);
  const int64_t share = divide_up(job.seq, divide_up(threads, batches * job.parts));
  const int64_t longest = job.outer_is_closer ? SOME
                          : job.adds          ? 2 * SOME  // read again for each row of a batch
                                              : MANY / at_least(2 * job.pairs, 1);
  job.block = at_least(at_most(at_most(at_least(share, SOME), at_least(longest, SOME)), job.seq), 1);
  job.blocks = divide_up(job.seq, job.block);
}

void check_positions(const Job& job) {
  STD_TORCH_CHECK(job.positions_are_exact(), "positions must lie within 2^24 of 0");
}

// Complete a job whose waves and channels are set.
void prepare(Job& job, const Tensor& x, const Tensor& out, const Tensor& positions) {
  set_tensors(job, x, out);
  set_positions(job, x, positions);
  set_loops(job, x, out);
}

// The first address on a line of memory from here on: what lies across two lines is read twice.
double* align(double* memory) {
  return reinterpret_cast<double*>((reinterpret_cast<uintptr_t>(memory) + LINE - 1) / LINE * LINE);
}

// Memory for cosines and sines, which each thread keeps for its next call: the system takes as long
// to make new pages as they take to fill. Null if there is none left.
double* take_memory(size_t cells) {
  thread_local std::unique_ptr<double[]> kept;
  thread_local size_t size = 0;
  if (cells > size) {
    kept.reset(new (std::nothrow) double[cells]);
    size = kept ? cells : 0;
  }
  return kept.get();
}

void run(const Job& job) {
  // a Table, cosines and sines of a block and of a row, a row; some numbers to begin on a line
  const size_t cells = (7 + 2 * job.near_rows + 2 * job.block) * job.pairs + job.width + LINE / 8;
  const int64_t outer = job.outer + (job.also ? job.also->outer : 0);
  const int64_t tasks = outer ? job.batches * job.parts * job.blocks : 0;
  const int64_t work = job.block * job.dim * divide_up(outer, job.parts);
  std::atomic<bool> lacks_memory{false};
  const auto part = [&](int64_t first, int64_t last) {
    // nothing may be thrown here: it would pass through PyTorch's threads
    double few[FEW];
    const std::unique_ptr<double[]> own(cells > KEPT ? new (std::nothrow) double[cells] : nullptr);
    double* memory = cells > KEPT ? own.get() : cells > FEW ? take_memory(cells) : few;
    if (memory) level.run(job, first, last, align(memory));
    else lacks_memory = true;
  };
  if (tasks * work <= GRAIN) part(0, tasks);
  else torch::stable::parallel_for(0, tasks, divide_up(GRAIN, work), part);
  STD_TORCH_CHECK(!lacks_memory, "there is no memory left for cosines and sines");
}

// Ask for large pages where a new tensor has room for them: the system then makes 2 MiB at a time,
// and making pages of 4 KiB takes longer than the rotation does.
void ask_for_large_pages(const Tensor& x) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t PAGE = 1 << 21;
  const uintptr_t first = reinterpret_cast<uintptr_t>(x.const_data_ptr());
  const uintptr_t begin = (first + PAGE - 1) / PAGE * PAGE;
  const uintptr_t end = (first + x.numel() * x.element_size()) / PAGE * PAGE;
  if (end > begin + PAGE) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// An unwritten tensor of the dtype of x. PyTorch's own empty_like is looked up by its name in every
// call, which takes as long as rotating a token does.
Tensor allocate(const Tensor& x, int64_t rank, const int64_t* sizes, const int64_t* strides) {
  int32_t dtype;
  AtenTensorHandle made;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(x.get(), &dtype));
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      rank, sizes, strides, dtype, aoti_torch_device_type_cpu(), 0, &made));
  Tensor out(made);
  ask_for_large_pages(out);
  return out;
}

Tensor allocate_like(const Tensor& x) {
  const int64_t rank = x.dim();
  if (rank > MOST_AXES || !x.is_contiguous()) return torch::stable::empty_like(x);
  int64_t sizes[MOST_AXES], strides[MOST_AXES];
  for (int64_t d = 0; d < rank; d++) sizes[d] = x.size(d), strides[d] = x.stride(d);
  return allocate(x, rank, sizes, strides);
}

Tensor compute(Job job, const Tensor& x, const Tensor& positions) {
  Tensor out = allocate_like(x);
  prepare(job, x, out, positions);
  check_positions(job);
  run(job);
  return out;
}

// Whether cosines and sines of one job serve the other, which has the same waves.
bool can_share(const Job& a, const Job& b) {
  return a.type == b.type && a.seq == b.seq && a.batches == b.batches && a.number == b.number &&
         a.positions == b.positions && a.batch_step == b.batch_step && a.seq_step == b.seq_step &&
         a.axis_step == b.axis_step && a.outer_is_closer == b.outer_is_closer;
}

// Run both, or refuse them before either is written.
void run_both(Job& of_q, const Job& of_k) {
  const bool shared = can_share(of_q, of_k);
  check_positions(of_q);
  if (!shared) check_positions(of_k);
  if (shared) of_q.also = &of_k;
  else run(of_k);
  run(of_q);
}

std::tuple<Tensor, Tensor> compute_both(Job of_q, const Tensor& q, const Tensor& k,
                                        const Tensor& q_pos, const Tensor& k_pos) {
  Job of_k = of_q;
  Tensor q_out = allocate_like(q), k_out = allocate_like(k);
  prepare(of_q, q, q_out, q_pos);
  prepare(of_k, k, k_out, k_pos);
  run_both(of_q, of_k);
  return {q_out, k_out};
}

Tensor rotate(Tensor x, Tensor positions, Tensor frequencies, std::optional<Tensor> axis,
              double scale, bool halves, int64_t start, bool back) {
  return compute(rotation_of(frequencies, axis, scale, halves, start, back), x, positions);
}

std::tuple<Tensor, Tensor> rotate_qk(Tensor q, Tensor k, Tensor q_pos, Tensor k_pos,
                                     Tensor frequencies, std::optional<Tensor> axis, double scale,
                                     bool halves, int64_t start, bool back) {
  return compute_both(rotation_of(frequencies, axis, scale, halves, start, back), q, k, q_pos, k_pos);
}

void rotate_qk_(Tensor q, Tensor k, Tensor q_pos, Tensor k_pos, Tensor frequencies,
                std::optional<Tensor> axis, double scale, bool halves, int64_t start, bool back) {
  Job of_q = rotation_of(frequencies, axis, scale, halves, start, back), of_k = of_q;
  prepare(of_q, q, q, q_pos);
  prepare(of_k, k, k, k_pos);
  run_both(of_q, of_k);
}

// The axes of x, from those whose places are closest in memory on.
void order_axes(const Tensor& x, int64_t* order) {
  for (int64_t d = 0; d < x.dim(); d++) {
    int64_t at = d;
    for (; at > 0 && x.stride(order[at - 1]) > x.stride(d); at--) order[at] = order[at - 1];
    order[at] = d;
  }
}

// Whether two places of x may be one in memory: a step within what smaller steps span.
bool overlaps_itself(const Tensor& x) {
  int64_t order[MOST_AXES], span = 0;
  order_axes(x, order);
  for (int64_t i = 0; i < x.dim(); i++) {
    const int64_t size = x.size(order[i]), step = x.stride(order[i]);
    if (size <= 1) continue;
    if (step <= span) return true;
    span += step * (size - 1);
  }
  return false;
}

// Where x ends in memory, of which no size is 0.
const char* find_end(const Tensor& x) {
  int64_t last = 0;
  for (int64_t d = 0; d < x.dim(); d++) last += x.stride(d) * (x.size(d) - 1);
  return static_cast<const char*>(x.const_data_ptr()) + (last + 1) * x.element_size();
}

// Whether x, which begins first, and y have no place in common: y lies behind x or, as parts of one
// projection do, beside it within each step of the outer axes.
bool lie_apart(const Tensor& x, const Tensor& y) {
  const char* begin = static_cast<const char*>(y.const_data_ptr());
  if (find_end(x) <= begin) return true;
  const int64_t rank = x.dim(), bytes = begin - static_cast<const char*>(x.const_data_ptr());
  bool alike = rank == y.dim() && bytes % x.element_size() == 0;
  for (int64_t d = 0; alike && d < rank; d++) alike = x.stride(d) == y.stride(d);
  if (!alike) return false;
  const int64_t apart = bytes / x.element_size();
  int64_t order[MOST_AXES], of_x = 0, of_y = 0, i = 0;
  order_axes(x, order);
  for (; i < rank && (x.stride(order[i]) < apart || x.size(order[i]) == 1); i++) {
    of_x += x.stride(order[i]) * (x.size(order[i]) - 1);
    of_y += y.stride(order[i]) * (y.size(order[i]) - 1);
  }
  if (of_x >= apart) return false;
  for (int64_t span = apart + of_y; i < rank; i++) {
    const int64_t size = at_least(x.size(order[i]), y.size(order[i])), step = x.stride(order[i]);
    if (size <= 1) continue;
    if (step <= span) return false;
    span += step * (size - 1);
  }
  return true;
}

void rotate_qk_packed_(Tensor q, Tensor k, Tensor q_pos, Tensor k_pos, Tensor packed) {
  Job of_q = unpack(packed, false), of_k = of_q;
  prepare(of_q, q, q, q_pos);
  prepare(of_k, k, k, k_pos);
  const bool k_first = k.const_data_ptr() < q.const_data_ptr();
  STD_TORCH_CHECK(!overlaps_itself(q) && !overlaps_itself(k) &&
                      (!q.numel() || !k.numel() || (k_first ? lie_apart(k, q) : lie_apart(q, k))),
                  "q and k must lie apart to be turned in place");
  run_both(of_q, of_k);
}

Tensor add_waves(Tensor x, Tensor positions, Tensor frequencies, double factor, bool halves) {
  const int64_t width = x.dim() ? x.size(x.dim() - 1) : 0;
  return compute(addition_of(frequencies, factor, halves, width), x, positions);
}

Tensor rotate_packed(Tensor x, Tensor positions, Tensor packed) {
  return compute(unpack(packed, false), x, positions);
}

std::tuple<Tensor, Tensor> rotate_qk_packed(Tensor q, Tensor k, Tensor q_pos, Tensor k_pos,
                                            Tensor packed) {
  return compute_both(unpack(packed, false), q, k, q_pos, k_pos);
}

Tensor add_waves_packed(Tensor x, Tensor positions, Tensor packed) {
  return compute(unpack(packed, true), x, positions);
}

// Tensors (batch, head, seq, dim), of which the second has room behind its first `start` tokens.
void check_room(const Tensor& x, const Tensor& kept, int64_t start) {
  STD_TORCH_CHECK(x.is_cpu() && kept.is_cpu() && x.dim() == 4 && kept.dim() == 4 &&
                      element_of(x) == element_of(kept) && x.size(0) == kept.size(0) &&
                      x.size(1) == kept.size(1) && x.size(3) == kept.size(3),
                  "keys and values must be as those of the cache");
  STD_TORCH_CHECK(start >= 0 && start <= kept.size(2) && x.size(2) <= kept.size(2) - start,
                  "the cache must have room");
}

void check_rows(const Tensor& x, const Tensor& kept) {
  STD_TORCH_CHECK((x.stride(3) == 1 && kept.stride(3) == 1) || x.size(3) == 1,
                  "channels must be neighbours in memory");
}

void copy_tokens(const Tensor& x, const Tensor& kept, int64_t start) {
  const int64_t bytes = x.element_size(), row = x.size(3) * bytes;
  const char* from = static_cast<const char*>(x.const_data_ptr());
  char* to = static_cast<char*>(kept.mutable_data_ptr()) + start * kept.stride(2) * bytes;
  for (int64_t b = 0; b < x.size(0); b++)
    for (int64_t h = 0; h < x.size(1); h++)
      for (int64_t t = 0; t < x.size(2); t++)
        std::memcpy(to + (b * kept.stride(0) + h * kept.stride(1) + t * kept.stride(2)) * bytes,
                    from + (b * x.stride(0) + h * x.stride(1) + t * x.stride(2)) * bytes, row);
}

// Rotate a few tokens (…, seq, dim) to positions start, start + 1, … and write them to `out`, moved
// by `shift` tokens.
void rotate_few(const Tensor& x, const Tensor& out, int64_t shift, int64_t start,
                const Tensor& packed) {
  Job job = unpack(packed, false);
  STD_TORCH_CHECK(!job.axis, "positions must be plain numbers");
  set_tensors(job, x, out);
  STD_TORCH_CHECK(job.seq <= SOME, "tokens must be few");
  STD_TORCH_CHECK(start > -LIMIT && start < LIMIT - job.seq + 1, "positions must lie within 2^24 of 0");
  int64_t positions[SOME];
  for (int64_t t = 0; t < job.seq; t++) positions[t] = start + t;
  job.out = static_cast<char*>(job.out) + shift * job.out_seq * x.element_size();
  job.positions = positions, job.number = Number::int64;
  job.seq_step = 1, job.batches = 1;
  set_loops(job, x, out);
  run(job);
}

Tensor rotate_from(Tensor x, int64_t start, Tensor packed) {
  Tensor out = allocate_like(x);
  rotate_few(x, out, 0, start, packed);
  return out;
}

// Write a few tokens behind the first `start` of a cache, at positions start, start + 1, …: keys are
// rotated if there are waves. One call, since each call costs more than the work of a token.
void append_packed(Tensor k, Tensor v, Tensor keys, Tensor values, int64_t start,
                   std::optional<Tensor> packed) {
  check_room(k, keys, start);
  check_room(v, values, start);
  STD_TORCH_CHECK(k.size(2) == v.size(2) && k.size(2) <= SOME, "tokens must be few");
  check_rows(v, values);
  if (packed) {
    rotate_few(k, keys, start, start, *packed);
  } else {
    check_rows(k, keys);
    copy_tokens(k, keys, start);
  }
  copy_tokens(v, values, start);
}

// Numbers in (batch or 1, head or 1, 1, key), whose keys are neighbours in memory: added to logits, or
// False where a key is not seen.
void set_added(Attention& job, const Tensor& added, int64_t keys) {
  STD_TORCH_CHECK(added.is_cpu() && added.dim() == 4 && added.size(2) == 1 && added.size(3) == keys &&
                      (added.stride(3) == 1 || keys == 1) &&
                      (added.size(0) == 1 || added.size(0) == job.batches) &&
                      (added.size(1) == 1 || added.size(1) == job.heads),
                  "what is added must be (batch or 1, head or 1, 1, key)");
  const bool masks = added.scalar_type() == ScalarType::Bool;
  STD_TORCH_CHECK(masks || added.scalar_type() == ScalarType::Float,
                  "what is added must be float32 or bool");
  if (masks) job.seen = static_cast<const uint8_t*>(added.const_data_ptr());
  else job.added = static_cast<const float*>(added.const_data_ptr());
  job.added_batch = added.size(0) == 1 ? 0 : added.stride(0);
  job.added_head = added.size(1) == 1 ? 0 : added.stride(1);
}

// softmax(scale q . k + added) v of one query a head, for keys first .. last of a cache; if there are
// waves, the query is rotated to the position of the last key.
Tensor attend_newest(Tensor query, Tensor k, Tensor v, int64_t first, int64_t last, double scale,
                     std::optional<Tensor> added, std::optional<Tensor> packed) {
  STD_TORCH_CHECK(query.is_cpu() && k.is_cpu() && v.is_cpu() && query.dim() == 4 && k.dim() == 4 &&
                      v.dim() == 4 && query.size(2) == 1 && query.size(0) == k.size(0) &&
                      k.size(0) == v.size(0) && k.size(1) == v.size(1) && k.size(2) == v.size(2) &&
                      query.size(3) == k.size(3) && k.size(1) > 0 && query.size(1) % k.size(1) == 0,
                  "q, k and v must be of one query and its keys and values");
  STD_TORCH_CHECK(first >= 0 && first < last && last <= k.size(2), "there must be keys to attend to");
  Attention job{};
  job.type = element_of(query);
  STD_TORCH_CHECK(job.type != Element::float64 && element_of(k) == job.type &&
                      element_of(v) == job.type,
                  "q, k and v must be float32, bfloat16 or float16");
  const Tensor q = packed ? rotate_from(query, last - 1, *packed) : query;
  job.batches = q.size(0), job.heads = q.size(1), job.groups = k.size(1);
  job.keys = last - first, job.dim = q.size(3), job.width = v.size(3), job.scale = scale;
  STD_TORCH_CHECK((q.stride(3) == 1 || job.dim == 1) && (k.stride(3) == 1 || job.dim == 1) &&
                      (v.stride(3) == 1 || job.width == 1),
                  "channels must be neighbours in memory");
  const int64_t bytes = q.element_size();
  job.q = q.const_data_ptr();
  job.k = static_cast<const char*>(k.const_data_ptr()) + first * k.stride(2) * bytes;
  job.v = static_cast<const char*>(v.const_data_ptr()) + first * v.stride(2) * bytes;
  job.q_batch = q.stride(0), job.q_head = q.stride(1);
  job.k_batch = k.stride(0), job.k_group = k.stride(1), job.k_seq = k.stride(2);
  job.v_batch = v.stride(0), job.v_group = v.stride(1), job.v_seq = v.stride(2);
  if (added) set_added(job, *added, job.keys);
  job.chunks = divide_up(job.keys, CHUNK);

  const int64_t sizes[] = {job.batches, job.heads, 1, job.width};
  const int64_t strides[] = {job.heads * job.width, job.width, job.width, 1};
  Tensor out = allocate(q, 4, sizes, strides);
  job.out = out.mutable_data_ptr();
  const int64_t queries = job.heads / job.groups, rows = job.batches * job.groups;
  // queries, logits and what they are sums of; or the values of one head
  const size_t cells = queries * (job.dim + 5 * CHUNK) + job.width;
  const size_t parts = rows * job.chunks * queries * (2 + job.width);
  std::unique_ptr<float[]> made(new (std::nothrow) float[parts]);
  STD_TORCH_CHECK(made, "there is no memory left for weighted values");
  job.parts = made.get();
  std::atomic<bool> lacks_memory{false};
  const auto run_part = [&](auto work, int64_t begin, int64_t end) {
    float few[2 * FEW];
    const bool fits = cells <= 2 * FEW;
    const std::unique_ptr<float[]> own(fits ? nullptr : new (std::nothrow) float[cells]);
    if (fits || own) work(job, begin, end, fits ? few : own.get());
    else lacks_memory = true;
  };
  const auto run_chunks = [&](int64_t begin, int64_t end) { run_part(level.attend, begin, end); };
  const int64_t tasks = rows * job.chunks, work = CHUNK * (job.dim + job.width) * queries;
  if (rows * job.keys * queries * (job.dim + job.width) <= GRAIN) run_chunks(0, tasks);
  else torch::stable::parallel_for(0, tasks, divide_up(GRAIN, work), run_chunks);
  if (!lacks_memory) run_part(level.join, 0, job.batches * job.heads);
  STD_TORCH_CHECK(!lacks_memory, "there is no memory left for queries and logits");
  return out;
}

std::string level_name() { return level.name; }

}  // namespace

#define ROTATION "Tensor frequencies, Tensor? axis, float scale, bool halves, int start, bool back)"

STABLE_TORCH_LIBRARY(posenc, m) {
  m.def("rotate(Tensor x, Tensor positions, " ROTATION " -> Tensor");
  m.def("rotate_qk(Tensor q, Tensor k, Tensor q_pos, Tensor k_pos, " ROTATION " -> (Tensor, Tensor)");
  m.def("rotate_qk_(Tensor(a!) q, Tensor(b!) k, Tensor q_pos, Tensor k_pos, " ROTATION " -> ()");
  m.def("add_waves(Tensor x, Tensor positions, Tensor frequencies, float factor, bool halves)"
        " -> Tensor");
  // For calls that want no gradient: what PyTorch does for one takes as long again.
  m.def("rotate.packed(Tensor x, Tensor positions, Tensor packed) -> Tensor");
  m.def("rotate_qk.packed(Tensor q, Tensor k, Tensor q_pos, Tensor k_pos, Tensor packed)"
        " -> (Tensor, Tensor)");
  m.def("rotate_qk_.packed(Tensor(a!) q, Tensor(b!) k, Tensor q_pos, Tensor k_pos, Tensor packed)"
        " -> ()");
  m.def("add_waves.packed(Tensor x, Tensor positions, Tensor packed) -> Tensor");
  m.def("append_.packed(Tensor k, Tensor v, Tensor(a!) keys, Tensor(b!) values, int start,"
        " Tensor? packed) -> ()");
  m.def("attend_newest(Tensor q, Tensor k, Tensor v, int first, int last, float scale, Tensor? added,"
        " Tensor? packed) -> Tensor");
  m.def("level() -> str");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, m) {
  m.impl("rotate", TORCH_BOX(&rotate));
  m.impl("rotate_qk", TORCH_BOX(&rotate_qk));
  m.impl("rotate_qk_", TORCH_BOX(&rotate_qk_));
  m.impl("add_waves", TORCH_BOX(&add_waves));
  m.impl("rotate.packed", TORCH_BOX(&rotate_packed));
  m.impl("rotate_qk.packed", TORCH_BOX(&rotate_qk_packed));
  m.impl("rotate_qk_.packed", TORCH_BOX(&rotate_qk_packed_));
  m.impl("add_waves.packed", TORCH_BOX(&add_waves_packed));
  m.impl("append_.packed", TORCH_BOX(&append_packed));
  m.impl("attend_newest", TORCH_BOX(&attend_newest));
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CompositeExplicitAutograd, m) {
  m.impl("level", TORCH_BOX(&level_name));
}
