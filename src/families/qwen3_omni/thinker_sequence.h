// The thinker's sequence of a request: its input (ids, and rows of the audio tower in place of
// recordings), and the answer that it writes, whose ids go to the talker. Made on the caller's
// thread, then touched by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "families/qwen3_omni/config.h"
#include "families/voice_chat/hearing_answer.h"

namespace syrinx::qwen3_omni {

class ThinkerSequence : public HearingAnswer {
 public:
  /// All arguments but the request must outlive this object. `told`: there is a talker, which gets
  /// the ids.
  ThinkerSequence(const ModelConfig& config, const llm::Generation& generation,
                  const Tokenizer& tokenizer, const SpeechRequest& request, ChatPrompt prompt,
                  bool told);

  /// Returns true for rows of recordings, which are tapped for the talker.
  bool tapped(int pos) const override;
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

 private:
  const ModelConfig& config_;
  const bool told_;
};

}  // namespace syrinx::qwen3_omni
