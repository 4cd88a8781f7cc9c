// Voxtral Realtime: a delayed-streams model that writes the words of a recording while its samples
// arrive. The encoder is a causal transformer over mel frames. Source:
// transformers:models/voxtral_realtime.
#pragma once

#include <optional>

#include "families/live/delayed_recogniser.h"
#include "families/voxtral_realtime/config.h"
#include "families/voxtral_realtime/delay_norms.h"

namespace syrinx::voxtral_realtime {

class VoxtralRealtime : public DelayedRecogniser {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit VoxtralRealtime(const LoadSpec& spec);

 private:
  void open_words(const LoadSpec& spec);
  std::unique_ptr<DelayedLm> load_lm(const Weights& weights, WeightType type);
  DelayedText text_of(int delay) const override;
  std::shared_ptr<const Tensor> norms_of(int delay) const override { return norms_->of(delay); }

  ModelConfig config_;
  std::optional<DelayNorms> norms_;
};

}  // namespace syrinx::voxtral_realtime
