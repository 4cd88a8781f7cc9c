// An answer whose text goes to the client and whose audio goes on as codes: ids of one range of the
// vocabulary. A text that is only read aloud is the answer's text, drawn by rules of the family.
// Made on the caller's thread, then touched by one thread at a time.
#pragma once

#include "families/voice_chat/hearing_answer.h"

namespace syrinx {

/// A text that is read aloud stands in runs of ids of text and codes.
struct AloudRuns {
  int text = 1, codes = 1;
};
/// The most ids of an answer that is heard, `most` at most: what a request says, its frames and the
/// `said` ids of a text among them.
int most_ids(const SpeechRequest& request, int64_t said, AloudRuns runs, int64_t most);

/// Ids of audio: of code 0, and behind that of the last one.
struct AudioIds {
  int32_t begin = 0, end = 0;
  bool has(int32_t id) const { return begin <= id && id < end; }
};

/// The sequence of one answer.
class VoiceAnswer : public HearingAnswer {
 public:
  /// The arguments must outlive this, but for the request. Without `speaks` text alone is drawn.
  VoiceAnswer(const llm::ModelConfig& config, const llm::Generation& generation,
              const Tokenizer& tokenizer, const SpeechRequest& request, ChatPrompt prompt,
              int64_t width, AudioIds audio, bool speaks);

  SampleRule rule(int k) const override;
  SampleRule drafted_rule(int guesses) const override {
    return of_text(Answer::drafted_rule(guesses));
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

 protected:
  /// The next id of a text that is read aloud.
  virtual SampleRule rule_aloud() const = 0;

 private:
  /// Without audio, where nothing is to be heard.
  SampleRule of_text(SampleRule rule) const;

  const AudioIds audio_;
  const bool speaks_;
};

}  // namespace syrinx
