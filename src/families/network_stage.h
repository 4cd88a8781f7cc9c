// What the AR stages of families have in common. Header only.
#pragma once

#include <span>

#include "model/stage.h"
#include "nn/layers.h"

namespace syrinx {

/// An AR stage that owns its networks. A derived class sets traits_. If its networks run on a GPU,
/// its move_to() moves all of them by place_.move().
class NetworkStage : public ArStage {
 public:
  const ArTraits& traits() const override { return traits_; }
  Device device() const override { return place_.device(); }

 protected:
  /// Returns the sequences of a batch that yield a step, in batch order, with those of companions.
  /// All sequences must be of class `State`. The result is in the host arena.
  template <typename State>
  static std::span<State* const> emitting(StepContext& ctx, const ArBatch& batch) {
    const std::span<State*> states = take_array<State*>(ctx, batch.emits);
    size_t count = 0;
    for (const ArSeq& seq : batch.seqs)
      if (seq.emits > 0) states[count++] = static_cast<State*>(seq.state);
    return states.first(count);
  }

  ArTraits traits_;
  WeightPlace place_;
};

}  // namespace syrinx
