// The language model's sequence of a request: its input (ids, and rows of recordings as they
// arrive), and the answer. The flow turns the answer's codes into speech with the request's voice.
// Made on the caller's thread, then used by one thread at a time.
#pragma once

#include "families/s3/state.h"
#include "families/step_audio2/config.h"
#include "families/voice_chat/voice_answer.h"

namespace syrinx::step_audio2 {

class Answer : public VoiceAnswer, public S3State {
 public:
  static constexpr AloudRuns kRuns{1, 4};

  /// All arguments except the request must outlive this object. Without `speaks`, only text is
  /// sampled, and the flow's inputs for the voice are not used.
  Answer(const Ids& ids, const llm::ModelConfig& config, const llm::Generation& generation,
         const Tokenizer& tokenizer, const SpeechRequest& request, ChatPrompt prompt,
         std::shared_ptr<const S3FlowVoice> voice, bool speaks)
      : VoiceAnswer(config, generation, tokenizer, request, std::move(prompt), config.lm.hidden,
                    {ids.audio, ids.code_end}, speaks),
        S3State(std::move(voice), request.sampling.seed, request.terms.flow == FlowMode::kFull),
        ids_(ids) {}

 private:
  SampleRule rule_aloud() const override;

  const Ids ids_;
};

}  // namespace syrinx::step_audio2
