// MOSS-TTS-Realtime: a Qwen3 whose steps read text and make frames, a small decoder that makes the
// codes of a frame, and MOSS-Audio-Tokenizer.
#pragma once

#include <memory>
#include <string>

#include "codec/moss_codec.h"
#include "families/loading/codec_pipeline.h"
#include "families/moss_tts/config.h"
#include "families/moss_tts/prompter.h"
#include "families/spoken/codec_lm.h"

namespace syrinx::moss_tts {

class MossTts : public CodecPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit MossTts(const LoadSpec& spec);

  Result<Opened> open(const SpeechRequest& request) const override;
  const ModelConfig& config() const { return config_; }
  const CodecLm& lm() const { return *lm_; }

 private:
  std::unique_ptr<MossCodec> load_codec(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<CodecLm> lm_;
};

}  // namespace syrinx::moss_tts
