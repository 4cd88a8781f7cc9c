// Voxtral Realtime: a delayed-streams model that writes the words of a recording while its samples
// arrive. Graph: the client's samples -> a causal encoder of mel frames -> rows -> the language
// model -> text. Each recording is one request.
#pragma once

#include <memory>
#include <optional>

#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/voxtral_realtime/hearing_stage.h"
#include "families/voxtral_realtime/text_stage.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::voxtral_realtime {

class VoxtralRealtime : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit VoxtralRealtime(const LoadSpec& spec);

  /// Opens a request whose task is a Hearing.
  Result<Opened> open(const SpeechRequest& request) const override;
  Result<SpeechRequest> listening(const OpenDictation& listening) const override;

  const ModelConfig& config() const { return config_; }
  const Tokenizer& words() const { return *words_; }
  const HearingStage& encoder() const { return *encoder_; }
  const TextStage& lm() const { return *lm_; }

 private:
  void open_words(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::optional<Tokenizer> words_;
  std::unique_ptr<const Weights> weights_;  // kept, because the table is read from the mapped file
  std::unique_ptr<HearingStage> encoder_;
  std::unique_ptr<TextStage> lm_;
};

}  // namespace syrinx::voxtral_realtime
