// An answer whose text is sent to the client and whose codes are sent to further stages. Codes are
// ids of one range of the vocabulary. If a text is only read aloud, the family's rules force it as
// the answer's text. Made on the caller's thread, then used by one thread at a time.
#pragma once

#include "families/voice_chat/hearing_answer.h"

namespace syrinx {

/// Lengths of the alternating runs of text ids and of codes in a text that is read aloud.
struct AloudRuns {
  int text = 1, codes = 1;
};
/// Returns the most ids of an answer with audio, at most `most`. RequestTerms::max_frames bounds
/// only codes, so the `said` ids of a text that is read aloud are added.
int most_ids(const SpeechRequest& request, int64_t said, AloudRuns runs, int64_t most);

/// The ids of audio: [begin, end), where begin is the id of code 0.
struct AudioIds {
  int32_t begin = 0, end = 0;
  bool has(int32_t id) const { return begin <= id && id < end; }
};

/// The sequence of one answer.
class VoiceAnswer : public HearingAnswer {
 public:
  /// `generation` and `tokenizer` must outlive this object. Samples only text if not `speaks`.
  VoiceAnswer(const llm::ModelConfig& config, const llm::Generation& generation,
              const Tokenizer& tokenizer, const SpeechRequest& request, ChatPrompt prompt,
              int64_t width, AudioIds audio, bool speaks);

  SampleRule rule(int k) const override;
  SampleRule drafted_rule(int guesses) const override {
    return of_text(Answer::drafted_rule(guesses));
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

 protected:
  /// Returns the rule for the next id of a text that is read aloud.
  virtual SampleRule rule_aloud() const = 0;

 private:
  /// Removes the ids of audio from a rule if the client requests no audio.
  SampleRule of_text(SampleRule rule) const;

  const AudioIds audio_;
  const bool speaks_;
};

}  // namespace syrinx
