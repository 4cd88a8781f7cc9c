// Whisper in the transformers layout. A request recognises the speech of one window of up to 30 s:
// the client's samples -> encoder -> rows, which are the decoder's memory -> decoder -> text.
// Another loop (ears/whisper_recogniser.h) handles long recordings and fallbacks, joins windows,
// and makes the requests with SpeechRequest::task.
#pragma once

#include <memory>
#include <optional>

#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/whisper/alignment.h"
#include "families/whisper/decoder.h"
#include "families/whisper/encoder_stage.h"
#include "families/whisper/window.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::whisper {

class Whisper : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Whisper(const LoadSpec& spec);

  /// Opens a request whose task is a Window or an Alignment. If the request has a recording
  /// instead, transcribes its first 30 s without timestamps, in `language` or in the language that
  /// the model finds.
  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const Generation& generation() const { return generation_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const EncoderStage& encoder() const { return *encoder_; }

 private:
  Result<std::shared_ptr<Window>> window_of(const SpeechRequest& request) const;
  Status check(const Window& window) const;
  bool whole(const std::vector<float>& values, int rows) const;
  Status check(const Alignment& alignment) const;
  Status check_language(const std::string& language, bool given) const;
  /// Reads sizes, ids and the tokenizer. Returns the weights.
  std::unique_ptr<WeightSource> open_files(const LoadSpec& spec);
  void check_vocabulary(const std::string& file) const;
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  Generation generation_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<EncoderStage> encoder_;
  std::unique_ptr<WhisperDecoder> decoder_;
};

}  // namespace syrinx::whisper
