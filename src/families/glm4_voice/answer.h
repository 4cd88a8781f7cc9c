// The language model's sequence of a request: its input (ids, and the codes of recordings as they
// arrive), and the answer. Made on the caller's thread, then used by one thread at a time.
#pragma once

#include "families/glm4_voice/config.h"
#include "families/voice_chat/voice_answer.h"

namespace syrinx::glm4_voice {

class Answer : public VoiceAnswer {
 public:
  /// Lengths of the runs of text ids and of codes, which the authors' prompt states. rule_aloud()
  /// enforces them; in answers to chats, the model itself follows the prompt.
  static constexpr AloudRuns kRuns{13, 26};

  /// `generation` and `tokenizer` must outlive this object. Samples only text if not `speaks`.
  Answer(const Ids& ids, const llm::ModelConfig& config, const llm::Generation& generation,
         const Tokenizer& tokenizer, const SpeechRequest& request, ChatPrompt prompt, bool speaks)
      : VoiceAnswer(config, generation, tokenizer, request, std::move(prompt), 0,
                    {ids.audio, ids.audio_end}, speaks),
        ids_(ids),
        seed_(request.sampling.seed),
        goes_on_(request.terms.background) {}

  uint64_t seed() const { return seed_; }
  /// Returns whether the last recording may continue in a later request. True for background
  /// requests that process speech before its end.
  bool goes_on() const { return goes_on_; }

 private:
  SampleRule rule_aloud() const override;

  const Ids ids_;
  const uint64_t seed_;
  const bool goes_on_;
};

}  // namespace syrinx::glm4_voice
