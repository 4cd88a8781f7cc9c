// The draws of a step as numbers for a GPU: rows of parameters and rules, and the lists that they
// refer to, in one piece of host memory. Thus a recorded CUDA graph can be replayed with the draws
// of another step. For one thread; allocates nothing once its memory has grown. S rows, K codes a
// step.
#pragma once

#include <vector>

#include "kernels/cuda/sample_call.h"
#include "kernels/sample.h"

namespace syrinx {

class StepDraws {
 public:
  /// Begins a step. After this, call set() once for each row and code.
  void begin(int64_t rows, int codes);
  /// Sets how row i draws code k from `vocabulary` ids. The id is written to codes[place] and, if
  /// `again` is not negative, to codes[again].
  void set(int64_t i, int k, const SampleRow& row, int64_t vocabulary, int32_t place,
           int32_t again);

  int64_t rows() const { return rows_; }
  /// Returns the size of all numbers in bytes. Lists have room to spare, so that a list that grows
  /// does not move the lists after it.
  size_t bytes() const { return layout().end; }
  void write(void* to) const;
  /// Appends the numbers that determine the positions of the lists.
  void append_shape(std::vector<uint64_t>& key) const;
  /// Sets the pointers in `call` to the lists of code k in `there`, a copy of the numbers on a GPU.
  void locate(int k, const void* there, cuda::SampleCall& call) const;

 private:
  struct Layout {
    size_t ranges, history, masks, end;
  };
  Layout layout() const;

  int64_t rows_ = 0;
  bool looks_back_ = false;                   // some draw needs its history
  std::vector<cuda::DeviceSampleRow> specs_;  // [K, S]
  std::vector<IdRange> ranges_;
  std::vector<int32_t> history_;
  std::vector<uint64_t> masks_;
};

/// Does what sample_codes() does. `there`: the GPU's copy of the numbers that draws.write() makes.
void draw_code(StepContext& ctx, const View& logits, const StepDraws& draws, const void* there,
               int k, const View& codes, const View& status);

}  // namespace syrinx
