// Kyutai TTS in the layout of the moshi package: a delayed-streams model that speaks words while
// they arrive. Graph: the language model -> Mimi's decoder.
#pragma once

#include <memory>
#include <optional>

#include "codec/mimi.h"
#include "families/family.h"
#include "families/kyutai_tts/speech_lm.h"
#include "families/kyutai_tts/voice.h"
#include "families/loading/codec_pipeline.h"
#include "text/tokens/unigram.h"

namespace syrinx::kyutai_tts {

class KyutaiTts : public CodecPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit KyutaiTts(const LoadSpec& spec);
  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const Unigram& tokenizer() const { return *tokenizer_; }

 private:
  void load_voices(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::optional<Unigram> tokenizer_;
  std::unique_ptr<SpeechLm> lm_;
  std::unique_ptr<VoiceFiles<SpeakerRows>> files_;
};

}  // namespace syrinx::kyutai_tts
