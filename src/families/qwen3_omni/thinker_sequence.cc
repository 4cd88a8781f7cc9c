#include "families/qwen3_omni/thinker_sequence.h"

#include <algorithm>

namespace syrinx::qwen3_omni {

ThinkerSequence::ThinkerSequence(const ModelConfig& config, const llm::ModelConfig& shape,
                                 const llm::Generation& generation, const Tokenizer& tokenizer,
                                 const SpeechRequest& request, ThinkerPrompt prompt, bool told)
    : Answer(shape, generation, tokenizer, request, std::move(prompt.ids)),
      config_(config),
      width_(config.thinker.decoder.hidden),
      heard_(std::move(prompt.heard)),
      said_(std::move(prompt.said)),
      told_(told) {
  for (int pos = 0; pos < prompt_rows(); ++pos)
    if (input(pos) == config.text.audio) places_.push_back(pos);
}

/// A row of a recording has no key: it is always run, so that it can be told.
void ThinkerSequence::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  const size_t before = keys.size();
  Answer::prefix_keys(companion, keys);
  if (!places_.empty()) keys.resize(before + static_cast<size_t>(places_.front()));
}

void ThinkerSequence::step_keys(std::vector<uint64_t>& keys) const {
  if (places_.empty()) Answer::step_keys(keys);
}

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
  if (verdict.next == Verdict::kContinue) untold_.push_back({codes[0], text().known()});
  for (; !untold_.empty() && untold_.front().end <= text().told(); untold_.pop_front())
    out.id(untold_.front().id);
  return verdict;
}

Status ThinkerSequence::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  rows_.insert(rows_.end(), frames.floats.begin(), frames.floats.end());
  const auto places = std::ssize(places_);
  SYRINX_CHECK(rows_heard() <= places, "[thinker] ", rows_heard(), " rows for ", places, " places");
  SYRINX_CHECK(!frames.last || rows_heard() == places, "[thinker] the tower ended after ",
               rows_heard(), " of ", places, " rows");
  return ok_status();
}

std::span<const float> ThinkerSequence::row(int pos) const {
  if (pos >= prompt_rows() || input(pos) != config_.text.audio) return {};
  const auto number = std::lower_bound(places_.begin(), places_.end(), pos) - places_.begin();
  return std::span(rows_).subspan(static_cast<size_t>(number * width_),
                                  static_cast<size_t>(width_));
}

}  // namespace syrinx::qwen3_omni
