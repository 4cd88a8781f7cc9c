// Adaptive norms of Voxtral Realtime: the delay of a request conditions the norms before the MLPs
// of its language model. Source: transformers:models/voxtral_realtime. Const after construction;
// any thread. H width, L layers, R inner width of the conditions.
#pragma once

#include <memory>
#include <vector>

#include "base/remembered.h"
#include "nn/decoder.h"

namespace syrinx::voxtral_realtime {

class DelayNorms {
 public:
  /// `model`: the scope of the language model's blocks.
  DelayNorms(const DecoderConfig& lm, const Weights& model);

  /// Chooses the device of the weights that of() returns.
  void move_to(Device device) { device_ = device; }
  /// Returns the weights [L, H] of the norms before the MLPs for a delay, in tokens. Computed once.
  std::shared_ptr<const Tensor> of(int delay) const;

 private:
  static constexpr int64_t kInner = 32;  // R, which no config has

  /// The condition of a block: norm * (1 + up gelu(down t)).
  struct Condition {
    Tensor norm, down, up;  // [H], [R, H], [H, R]
  };
  int64_t width_;
  std::vector<Condition> conditions_;
  Device device_ = Device::kCpu;
  mutable Remembered<int, const Tensor> known_{size_t{1} << 26};  // by delay
};

}  // namespace syrinx::voxtral_realtime
