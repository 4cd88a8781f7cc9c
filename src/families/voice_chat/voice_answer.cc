#include "families/voice_chat/voice_answer.h"

#include <algorithm>

namespace syrinx {

int most_ids(const SpeechRequest& request, int64_t said, AloudRuns runs, int64_t most) {
  const int64_t codes = request.terms.max_frames, in_runs = (codes + runs.codes - 1) / runs.codes;
  const int64_t ids = codes + std::min(said, in_runs * runs.text);
  const int64_t wish = request.writing.max_tokens > 0 ? request.writing.max_tokens : ids;
  return static_cast<int>(wish > 0 ? std::min(wish, most) : most);
}

VoiceAnswer::VoiceAnswer(const llm::ModelConfig& config, const llm::Generation& generation,
                         const Tokenizer& tokenizer, const SpeechRequest& request,
                         ChatPrompt prompt, int64_t width, AudioIds audio, bool speaks)
    : HearingAnswer(config, generation, tokenizer, request, std::move(prompt), width),
      audio_(audio),
      speaks_(speaks) {}

SampleRule VoiceAnswer::of_text(SampleRule rule) const {
  if (!speaks_) rule.allowed[0].end = std::min(rule.allowed[0].end, audio_.begin);
  return rule;
}

SampleRule VoiceAnswer::rule(int k) const {
  return said().empty() ? of_text(Answer::rule(k)) : rule_aloud();
}

/// Reports the ids of a spoken answer, without its end, so that a later request can contain them.
Verdict VoiceAnswer::advance(std::span<const int32_t> codes, StepOutput& out) {
  const Verdict verdict = Answer::advance(codes, out);
  if (!speaks_) return verdict;
  const bool ended = verdict.next == Verdict::kFinished && verdict.reason == FinishReason::kStop;
  if (!ended) out.answer_id(codes[0]);
  if (audio_.has(codes[0])) hold_back(codes[0] - audio_.begin);
  while (const std::optional<int32_t> code = next_passed()) out.frame({&*code, 1});
  return verdict;
}

}  // namespace syrinx
