#include "families/qwen3_omni/thinker_sequence.h"

namespace syrinx::qwen3_omni {

namespace {

std::vector<int32_t> places_of(std::span<const int32_t> ids, int32_t audio) {
  std::vector<int32_t> places;
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] == audio) places.push_back(static_cast<int32_t>(i));
  return places;
}

}  // namespace

/// A row of a recording that is told to the talker has no key: it is always run.
ThinkerSequence::ThinkerSequence(const ModelConfig& config, const llm::ModelConfig& shape,
                                 const llm::Generation& generation, const Tokenizer& tokenizer,
                                 const SpeechRequest& request, ThinkerPrompt prompt, bool told)
    : HearingAnswer(shape, generation, tokenizer, request, prompt.ids,
                    places_of(prompt.ids, config.text.audio),
                    told ? std::vector<uint64_t>() : std::move(prompt.keys),
                    config.thinker.decoder.hidden),
      config_(config),
      heard_(std::move(prompt.heard)),
      said_(std::move(prompt.said)),
      told_(told) {}

/// Ids that are told beforehand have a rule of their own each, which guesses cannot have.
std::span<const int32_t> ThinkerSequence::draft() const {
  return said_.empty() ? Answer::draft() : std::span<const int32_t>();
}

bool ThinkerSequence::tapped(int pos) const {
  return told_ && pos < prompt_rows() && input(pos) == config_.text.audio;
}

/// A text that is only read aloud is drawn id by id, whatever the thinker thinks of it.
SampleRule ThinkerSequence::rule(int k) const {
  SampleRule rule = Answer::rule(k);
  if (said_.empty()) return rule;
  const auto at = static_cast<size_t>(steps());
  rule.forced = at < said_.size() ? said_[at] : config_.text.im_end;
  return rule;
}

/// Ids are told once their text is: what may yet become a stop string is not spoken either. The
/// last id before the end, of whatever kind, is never told, as the authors have it.
Verdict ThinkerSequence::advance(std::span<const int32_t> codes, StepOutput& out) {
  const Verdict verdict = Answer::advance(codes, out);
  if (!told_) return verdict;
  if (verdict.next == Verdict::kContinue) hold_back(codes[0]);
  while (const std::optional<int32_t> id = next_told()) out.id(*id);
  return verdict;
}

Status ThinkerSequence::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  take_rows(frames);
  return ok_status();
}

}  // namespace syrinx::qwen3_omni
