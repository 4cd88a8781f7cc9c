// Rotary position embedding. A table is made once per model and only read afterwards, from any
// thread. Angles are f32(position) * f32(1 / theta^(2i/dim)), as in transformers.
#pragma once

#include <span>
#include <vector>

#include "kernels/heads.h"
#include "tensor/context.h"

namespace syrinx {

/// The pairs that are rotated together: (i, i + dim/2) or (2i, 2i + 1).
enum class RopeLayout : uint8_t { kHalfSplit, kInterleaved };

/// The "llama3" scaling of long wavelengths; factor 0: none.
/// Formula: transformers:src/transformers/modeling_rope_utils.py, _compute_llama3_parameters.
struct RopeScaling {
  float factor = 0;
  float low_freq_factor = 1;
  float high_freq_factor = 4;
  float original_positions = 8192;
};

/// How positions rotate a head.
struct RopeSpec {
  int dim = 0;  ///< columns that are rotated: the first `dim` of each head, even
  double theta = 10000;
  RopeLayout layout = RopeLayout::kHalfSplit;
  RopeScaling scaling = {};
  /// Whether cos and sin are rounded to bf16, as in some authors' tables.
  bool bf16 = false;
  /// "longrope": positions are divided by factors[i] for pair i; [dim / 2], empty: no longrope. cos
  /// and sin are multiplied by `gain`.
  /// Formula: transformers:src/transformers/modeling_rope_utils.py, _compute_longrope_parameters.
  std::vector<float> factors = {};
  float gain = 1;
};

/// cos and sin of every angle for positions [0, cached_positions). Later positions work, too, with
/// the same bits; their angles are computed in each call.
class RopeTable {
 public:
  RopeTable() = default;
  RopeTable(const RopeSpec& spec, int64_t cached_positions);

  const RopeSpec& spec() const { return spec_; }
  int64_t cached_positions() const { return cos_.empty() ? 0 : cos_.shape()[0]; }
  /// Computes cos and sin [dim / 2] of a position >= 0, cached or not.
  void angles(int64_t position, float* cos, float* sin) const;
  /// Return the tables [cached_positions, dim / 2] f32.
  const View& cos() const { return cos_.view(); }
  const View& sin() const { return sin_.view(); }
  /// Returns the radians per position, [dim / 2] f32.
  const View& inv_freq() const { return inv_freq_.view(); }
  /// Returns 1 / factors, [dim / 2] f32; empty without factors.
  const View& slow() const { return slow_.view(); }

  /// Returns the table in the memory of a GPU; angles() works only for a table of the host.
  RopeTable on_device(Device device) const;

 private:
  RopeSpec spec_;
  Tensor inv_freq_, slow_, cos_, sin_;
};

/// Rotates every head of row i by positions[i], in place. positions [N].
void rope(StepContext& ctx, const HeadsView& x, std::span<const int32_t> positions,
          const RopeTable& table);

}  // namespace syrinx
