// A request's side of the language model: what it reads (ids, and rows of recordings as they come),
// and the answer, whose text goes to the client and whose codes go on to the flow, which speaks
// them with the request's voice. Made on the caller's thread, then touched by one thread at a time.
#pragma once

#include "families/llm/hearing_answer.h"
#include "families/s3/state.h"
#include "families/step_audio2/prompter.h"

namespace syrinx::step_audio2 {

class VoiceAnswer : public llm::HearingAnswer, public S3State {
 public:
  static constexpr int kHearing = 1;  ///< input port of the encoder's rows
  /// Codes behind each id of a text that is read aloud.
  static constexpr int kAudioRun = 4;

  /// What is given must outlive this, but for the request. Not `speaks`: text alone is drawn, and
  /// what the flow is told of the voice is never used.
  VoiceAnswer(const Ids& ids, const llm::ModelConfig& config, const llm::Generation& generation,
              const Tokenizer& tokenizer, const SpeechRequest& request, Prompt prompt,
              std::shared_ptr<const S3FlowVoice> voice, bool speaks);

  std::span<const int32_t> draft() const override;
  SampleRule rule(int k) const override;
  SampleRule drafted_rule(int guesses) const override {
    return of_text(Answer::drafted_rule(guesses));
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status take(int port, const Frames& frames) override;

  std::span<const int64_t> pieces() const { return pieces_; }
  /// Of them.
  std::span<const uint64_t> piece_keys() const { return piece_keys_; }

 private:
  /// Without audio, where nothing is to be heard.
  SampleRule of_text(SampleRule rule) const;

  const Ids ids_;
  const std::vector<int64_t> pieces_;
  const std::vector<uint64_t> piece_keys_;
  const std::vector<int32_t> said_;
  const bool speaks_;
};

}  // namespace syrinx::step_audio2
