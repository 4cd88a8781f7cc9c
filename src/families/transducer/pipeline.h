// Recognisers by NVIDIA in transformers' layout. Nemotron speech streaming (a cache-aware
// FastConformer with an RNN-T) writes words of a recording while its samples arrive. Parakeet (a
// FastConformer with a TDT or RNN-T) processes a recording as a whole. Graph: the client's samples
// -> encoder -> rows -> joint network -> text.
#pragma once

#include <memory>
#include <optional>

#include "families/live/live_recogniser.h"
#include "families/transducer/hearing_stage.h"
#include "families/transducer/joint_stage.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::transducer {

class Transducer : public LiveRecogniser {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Transducer(const LoadSpec& spec);

  Result<SpeechRequest> dictation(const Dictation& dictation) const override;

  const ModelConfig& config() const { return config_; }

 private:
  std::unique_ptr<LiveSequence> sequence(const Hearing& task) const override;
  void check_vocabulary(const LoadSpec& spec) const;
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<HearingStage> encoder_;
  std::unique_ptr<JointStage> joint_;
};

}  // namespace syrinx::transducer
