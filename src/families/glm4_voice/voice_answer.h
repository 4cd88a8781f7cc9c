// A request's side of the language model: what it reads (ids, and the codes of recordings as they
// come), and the answer, whose text goes to the client and whose audio goes on as codes.
// Made on the caller's thread, then touched by one thread at a time.
#pragma once

#include "families/glm4_voice/prompter.h"
#include "families/llm/hearing_answer.h"

namespace syrinx::glm4_voice {

class VoiceAnswer : public llm::HearingAnswer {
 public:
  static constexpr int kHearing = 1;  ///< input port of the speech tokenizer's codes
  /// As the authors ask the model to answer; it keeps to it by itself.
  static constexpr int kTextRun = 13, kAudioRun = 26;

  /// What is given must outlive this, but for the request. Not `speaks`: text alone is drawn.
  VoiceAnswer(const Ids& ids, const llm::ModelConfig& config, const llm::Generation& generation,
              const Tokenizer& tokenizer, const SpeechRequest& request, Prompt prompt, bool speaks);

  std::span<const int32_t> draft() const override;
  SampleRule rule(int k) const override;
  SampleRule drafted_rule(int guesses) const override {
    return of_text(Answer::drafted_rule(guesses));
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status take(int port, const Frames& frames) override;

  std::span<const Segment> segments() const { return segments_; }
  uint64_t seed() const { return seed_; }
  /// A request of the background hears ahead: its last recording may go on.
  bool goes_on() const { return goes_on_; }

 private:
  /// Without audio, where nothing is to be heard.
  SampleRule of_text(SampleRule rule) const;

  const Ids ids_;
  const std::vector<Segment> segments_;
  const std::vector<int32_t> said_;
  const bool speaks_;
  const uint64_t seed_;
  const bool goes_on_;
};

}  // namespace syrinx::glm4_voice
