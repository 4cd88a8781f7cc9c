// Higgs Audio v3: expressive speech, directed by tags in the text, with a voice that the model
// makes up or that comes from a recording. A Qwen3 decoder with a head for each codebook, and the
// X-Codec in the same checkpoint.
#pragma once

#include <memory>

#include "families/family.h"
#include "families/higgs/config.h"
#include "families/spoken/spoken_pipeline.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::higgs {

inline constexpr const char* kFamily = "higgs_audio";
inline constexpr double kMostSeconds = 60;  ///< longest recording of a voice
inline constexpr int32_t kHeard = -100;     ///< the authors' id of prompt rows that have codes

/// Control tokens of prompts. Older checkpoints lack kRefText, which precedes the words of a voice.
inline constexpr const char *kTts = "<|tts|>", *kRefAudio = "<|ref_audio|>",
                            *kRefText = "<|ref_text|>", *kText = "<|text|>", *kAudio = "<|audio|>";

class Higgs : public SpokenPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Higgs(const LoadSpec& spec);

  const ModelConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;

  ModelConfig config_;
  std::unique_ptr<const Tokenizer> tokenizer_;
};

/// Returns the settings. Tables: the table of ids, then those of the C codebooks.
SpokenModel spoken_model(const ModelConfig& config);

}  // namespace syrinx::higgs
