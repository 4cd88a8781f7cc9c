// The thinker's side of a request: what it reads (ids, and rows of the audio tower where recordings
// stand), and the answer that it writes, whose ids it tells the talker.
// Made on the caller's thread, then touched by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "families/hearing/heard.h"
#include "families/llm/hearing_answer.h"
#include "families/qwen3_omni/config.h"

namespace syrinx::qwen3_omni {

/// What a thinker is to read.
struct ThinkerPrompt {
  std::vector<int32_t> ids;    ///< the audio id stands once for each row of a recording
  std::vector<Heard> heard;    ///< the recordings, in the order of their rows
  std::vector<uint64_t> keys;  ///< of those rows
  std::vector<int32_t> said;   ///< the answer, where the model only reads it aloud
};

class ThinkerSequence : public llm::HearingAnswer, public Hearer {
 public:
  static constexpr int kHearing = 1;  ///< input port of the tower's rows

  /// What is given must outlive this, but for the request. `told`: a talker listens.
  ThinkerSequence(const ModelConfig& config, const llm::ModelConfig& shape,
                  const llm::Generation& generation, const Tokenizer& tokenizer,
                  const SpeechRequest& request, ThinkerPrompt prompt, bool told);

  std::span<const int32_t> draft() const override;
  /// The talker hears the rows of recordings.
  bool tapped(int pos) const override;
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status take(int port, const Frames& frames) override;

  std::span<const Heard> heard() const override { return heard_; }

 private:
  const ModelConfig& config_;
  const std::vector<Heard> heard_;
  const std::vector<int32_t> said_;
  const bool told_;
};

}  // namespace syrinx::qwen3_omni
