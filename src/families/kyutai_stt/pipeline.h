// Kyutai STT: a delayed-streams model that writes words of a recording while its samples arrive.
// The encoder is Mimi's. Sources: moshi:moshi/models/lm.py,
// transformers:models/kyutai_speech_to_text.
#pragma once

#include "families/kyutai_stt/config.h"
#include "families/live/delayed_recogniser.h"

namespace syrinx::kyutai_stt {

class KyutaiStt : public DelayedRecogniser {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit KyutaiStt(const LoadSpec& spec);

 private:
  DelayedText text_of(int delay) const override;

  ModelConfig config_;
};

}  // namespace syrinx::kyutai_stt
