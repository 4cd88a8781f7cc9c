// The thinker's side of a request: what it reads (ids, and rows of the audio tower where recordings
// stand), and the answer that it writes, whose ids it sends to the talker. Made on the caller's
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
  /// The arguments must outlive this, but for the request. `told`: a talker listens.
  ThinkerSequence(const ModelConfig& config, const llm::Generation& generation,
                  const Tokenizer& tokenizer, const SpeechRequest& request, ChatPrompt prompt,
                  bool told);

  /// The talker hears the rows of recordings.
  bool tapped(int pos) const override;
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

 private:
  const ModelConfig& config_;
  const bool told_;
};

}  // namespace syrinx::qwen3_omni
