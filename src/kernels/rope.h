// Rotary position embedding. The table is made once per model and only read afterwards, from any
// thread. Angles are f32(position) * f32(1 / theta^(2i/dim)), as transformers computes them.
#pragma once

#include <span>
#include <vector>

#include "kernels/heads.h"
#include "tensor/context.h"

namespace syrinx {

/// Which pairs turn together: (i, i + dim/2) or (2i, 2i + 1).
enum class RopeLayout : uint8_t { kHalfSplit, kInterleaved };

/// The "llama3" stretch of long wavelengths; factor 0 means none.
/// Formula: transformers:src/transformers/modeling_rope_utils.py, _compute_llama3_parameters.
struct RopeScaling {
  float factor = 0;
  float low_freq_factor = 1;
  float high_freq_factor = 4;
  float original_positions = 8192;
};

/// How positions turn a head.
struct RopeSpec {
  int dim = 0;  ///< columns that turn: the first `dim` of each head, even
  double theta = 10000;
  RopeLayout layout = RopeLayout::kHalfSplit;
  RopeScaling scaling = {};
  /// cos and sin rounded to bf16, for models whose authors keep their table so. On the CPU only.
  bool bf16 = false;
  /// "longrope": positions count 1 / factors[i] for pair i, of dim / 2; empty: no such thing. cos
  /// and sin are `gain` times as long. On the CPU only.
  /// Formula: transformers:src/transformers/modeling_rope_utils.py, _compute_longrope_parameters.
  std::vector<float> factors = {};
  float gain = 1;
};

/// cos and sin of every angle for positions [0, cached_positions). Later positions work as well,
/// bit for bit; their angles are computed in each call.
class RopeTable {
 public:
  RopeTable() = default;
  RopeTable(const RopeSpec& spec, int64_t cached_positions);

  const RopeSpec& spec() const { return spec_; }
  int64_t cached_positions() const { return cos_.empty() ? 0 : cos_.shape()[0]; }
  /// cos and sin [dim / 2] of one position >= 0, cached or not.
  void angles(int64_t position, float* cos, float* sin) const;
  /// [cached_positions, dim / 2] f32.
  const View& cos() const { return cos_.view(); }
  const View& sin() const { return sin_.view(); }
  /// [dim / 2] f32: radians a position.
  const View& inv_freq() const { return inv_freq_.view(); }

  /// The same table in the memory of a GPU; angles() is for the host's.
  RopeTable on_device(Device device) const;

 private:
  RopeSpec spec_;
  Tensor inv_freq_, cos_, sin_;
};

/// Turns every head of row i by positions[i], in place. positions [N].
void rope(StepContext& ctx, const HeadsView& x, std::span<const int32_t> positions,
          const RopeTable& table);

}  // namespace syrinx
