#include "families/qwen3_omni/thinker_sequence.h"

namespace syrinx::qwen3_omni {

ThinkerSequence::ThinkerSequence(const ModelConfig& config, const llm::Generation& generation,
                                 const Tokenizer& tokenizer, const SpeechRequest& request,
                                 ChatPrompt prompt, bool told)
    : HearingAnswer(config.thinker, generation, tokenizer, request, std::move(prompt),
                    config.thinker.lm.hidden),
      config_(config),
      told_(told) {}

bool ThinkerSequence::tapped(int pos) const {
  return told_ && pos < prompt_rows() && id_at(pos) == config_.text.audio;
}

/// If a text is read aloud, its ids are forced.
SampleRule ThinkerSequence::rule(int k) const {
  SampleRule rule = Answer::rule(k);
  if (said().empty()) return rule;
  const auto at = static_cast<size_t>(steps());
  rule.forced = at < said().size() ? said()[at] : config_.text.im_end;
  return rule;
}

/// Sends each id to the talker only when its text is sent, so that no stop string is spoken. Like
/// the authors' code, never sends the last id before the end.
Verdict ThinkerSequence::advance(std::span<const int32_t> codes, StepOutput& out) {
  const Verdict verdict = Answer::advance(codes, out);
  if (!told_) return verdict;
  if (verdict.next == Verdict::kContinue) hold_back(codes[0]);
  while (const std::optional<int32_t> id = next_passed()) out.id(*id);
  return verdict;
}

}  // namespace syrinx::qwen3_omni
