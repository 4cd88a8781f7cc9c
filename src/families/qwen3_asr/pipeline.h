// Qwen3-ASR as a graph: the client's samples -> tower -> rows -> decoder -> text for the client. A
// request transcribes one stretch of a recording. ears/dictation_recogniser.h cuts longer ones.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "families/hearing/tower_stage.h"
#include "families/loading/loaded_pipeline.h"
#include "families/qwen3_asr/config.h"
#include "families/spoken/codec_lm.h"
#include "families/voice_chat/chat_prompt.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::qwen3_asr {

class Qwen3Asr : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Qwen3Asr(const LoadSpec& spec);

  /// Opens requests from dictation(). Returns an Error for others: this model answers no messages.
  Result<Opened> open(const SpeechRequest& request) const override;
  Result<SpeechRequest> dictation(const Dictation& dictation) const override;
  Dictated dictated(const Dictation& asked, std::string_view answer, bool whole) const override;

 private:
  struct Stretch;
  /// Ids of the tokens around the parts of a prompt.
  struct Ids {
    int32_t turn = 0, turn_end = 0, audio_begin = 0, audio_end = 0, text = 0;
  };
  void load_tokens(const LoadSpec& spec);
  void load_networks(const Weights& weights, const LoadSpec& spec);
  void describe(const LoadSpec& spec);
  Result<ChatPrompt> prompt_of(const Stretch& stretch, std::span<const float> samples) const;

  ModelConfig config_;
  llm::Generation generation_;
  std::optional<Tokenizer> tokenizer_;
  Ids ids_;
  std::optional<Weights> weights_;  // kept, because the table is read from the mapped file
  std::unique_ptr<Qwen3AudioTower> tower_;
  std::unique_ptr<TowerStage> hearing_;
  std::unique_ptr<CodecLm> lm_;
};

}  // namespace syrinx::qwen3_asr
