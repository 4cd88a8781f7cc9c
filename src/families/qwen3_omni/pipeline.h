// Qwen3-Omni as a graph: the client's samples -> tower -> rows -> thinker -> text for the client;
// the thinker's ids and rows of recordings -> talker -> codes -> code2wav -> samples for the
// client. A request for text only uses neither talker nor code2wav.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/codec_stage.h"
#include "families/hearing/tower_stage.h"
#include "families/llm/prompter.h"
#include "families/loading/loaded_pipeline.h"
#include "families/qwen3_omni/networks.h"
#include "families/qwen3_omni/thinker_sequence.h"

namespace syrinx::qwen3_omni {

class Qwen3Omni : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Qwen3Omni(const LoadSpec& spec);

  /// Opens a request. A chat is answered. A text alone is read aloud: the talker gets its ids as
  /// the thinker's answer. If the client requests only text, the thinker continues the text.
  Result<Opened> open(const SpeechRequest& request) const override;

 private:
  void join();
  void describe(const LoadSpec& spec);
  Result<ChatPrompt> prompt_of(const SpeechRequest& request) const;
  Result<ChatPrompt> reading_aloud(const std::string& text) const;
  Status place_recordings(const std::vector<std::vector<float>>& recordings,
                          ChatPrompt& prompt) const;
  Status check_prompt(const ChatPrompt& prompt, bool speaks) const;
  Result<int32_t> speaker(const SpeechRequest& request) const;

  ModelConfig config_;
  llm::Generation generation_;
  std::unique_ptr<llm::Prompter> prompter_;
  std::shared_ptr<Networks> networks_;
  std::unique_ptr<TowerStage> tower_;
  std::unique_ptr<CodecStage<Qwen3Codec>> code2wav_;
};

}  // namespace syrinx::qwen3_omni
