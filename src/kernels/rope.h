// Rotary position embedding. A table is made once per model; any thread may read it. Angles are
// f32(position) * f32(1 / theta^(2i/dim)), as in transformers.
#pragma once

#include <span>
#include <vector>

#include "kernels/heads.h"
#include "tensor/context.h"

namespace syrinx {

/// The pairs that are rotated together: (i, i + dim/2) or (2i, 2i + 1).
enum class RopeLayout : uint8_t { kHalfSplit, kInterleaved };

/// The "llama3" scaling of long wavelengths. A factor of 0 means no scaling.
/// Formula: transformers:src/transformers/modeling_rope_utils.py, _compute_llama3_parameters.
struct RopeScaling {
  float factor = 0;
  float low_freq_factor = 1;
  float high_freq_factor = 4;
  float original_positions = 8192;
};

/// How positions rotate a head.
struct RopeSpec {
  int dim = 0;  ///< number of rotated columns: the first `dim` of each head, even
  double theta = 10000;
  RopeLayout layout = RopeLayout::kHalfSplit;
  RopeScaling scaling = {};
  /// Whether cos and sin are rounded to bf16, as in the tables of some models' authors.
  bool bf16 = false;
  /// "longrope": for pair i, positions are divided by factors[i]; [dim / 2], empty without
  /// longrope. cos and sin are multiplied by `gain`.
  /// Formula: transformers:src/transformers/modeling_rope_utils.py, _compute_longrope_parameters.
  std::vector<float> factors = {};
  float gain = 1;
};

/// The cos and sin of every angle for positions [0, cached_positions). Each call computes angles of
/// later positions, with the bits that a larger table would have.
class RopeTable {
 public:
  RopeTable() = default;
  RopeTable(const RopeSpec& spec, int64_t cached_positions);

  const RopeSpec& spec() const { return spec_; }
  int64_t cached_positions() const { return cos_.empty() ? 0 : cos_.shape()[0]; }
  /// Computes cos and sin [dim / 2] of any position >= 0.
  void angles(int64_t position, float* cos, float* sin) const;
  /// Return the tables of cos and sin, [cached_positions, dim / 2] f32.
  const View& cos() const { return cos_.view(); }
  const View& sin() const { return sin_.view(); }
  /// Returns the angle in radians per position for each pair, [dim / 2] f32.
  const View& inv_freq() const { return inv_freq_.view(); }
  /// Returns 1 / factors, [dim / 2] f32; empty if the spec has no factors.
  const View& slow() const { return slow_.view(); }

  /// Returns the table in the memory of a GPU. angles() requires a table in host memory.
  RopeTable on_device(Device device) const;

 private:
  RopeSpec spec_;
  Tensor inv_freq_, slow_, cos_, sin_;
};

/// Rotates every head of row i by the angles of positions[i], in place. positions [N].
void rope(StepContext& ctx, const HeadsView& x, std::span<const int32_t> positions,
          const RopeTable& table);

}  // namespace syrinx
