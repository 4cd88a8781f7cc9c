// The thinker's sequence of a request: its input (ids, and rows of the audio tower for recordings),
// and the answer that it writes, whose ids go to the talker. Made on the caller's thread, then used
// by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "families/qwen3_omni/config.h"
#include "families/voice_chat/hearing_answer.h"

namespace syrinx::qwen3_omni {

class ThinkerSequence : public HearingAnswer {
 public:
  /// `config`, `generation` and `tokenizer` must outlive this object. `told`: whether a talker
  /// exists, which receives the ids.
  ThinkerSequence(const ModelConfig& config, const llm::Generation& generation,
                  const Tokenizer& tokenizer, const SpeechRequest& request, ChatPrompt prompt,
                  bool told);

  /// Returns true for rows of recordings, because their taps are sent to the talker.
  bool tapped(int pos) const override;
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

 private:
  const ModelConfig& config_;
  const bool told_;
};

}  // namespace syrinx::qwen3_omni
