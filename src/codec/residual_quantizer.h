// Chooses the codes of frames with a residual quantizer: each codebook describes what the codebooks
// before it left of a row. Computes in f32, because fewer bits would select other codes. On a GPU,
// only with codebooks whose entries describe rows directly. Const after construction, shared by
// threads. N rows of width W. Q codebooks of V entries of width D.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/nearest_entry.h"
#include "io/weights.h"

namespace syrinx {

class ResidualQuantizer {
 public:
  /// Adds a codebook whose entries [V, W] describe rows directly.
  void add(Tensor entries);
  /// Adds a codebook of entries [V, D]. `in`: W -> D; `out`: D -> W.
  void add(Tensor entries, PackedLinear in, PackedLinear out);
  /// Loads a codebook in the layout of DAC. Rows and entries are compared by their angle.
  void add_dac(const Weights& scope, int64_t width, int64_t dim, int64_t entries);

  /// Writes the codes of the rows x [N, W] to columns [first, first + Q) of `codes` [N, C] i32, on
  /// the device of x. Leaves in x what no codebook describes.
  void run(StepContext& ctx, const View& x, const View& codes, int64_t first = 0) const;
  /// Does the same on the CPU.
  void run(StepContext& ctx, const View& x, std::span<int32_t> codes, int64_t first = 0) const;
  /// Moves the codebooks to a GPU.
  void move_to(Device device);
  size_t bytes() const;

 private:
  struct Codebook {
    bool direct() const { return in.empty() && stored.empty(); }
    NearestEntry nearest;
    PackedLinear in = {}, out = {};
    Tensor stored = {};  // the entries, if those of `nearest` are scaled to length 1
  };

  void run_projected(StepContext& ctx, const Codebook& book, const View& x, const View& codes,
                     int64_t column) const;
  std::vector<Codebook> codebooks_;
};

}  // namespace syrinx
