#include "families/llm/hearing_answer.h"

#include "base/check.h"

namespace syrinx::llm {

HearingAnswer::HearingAnswer(const ModelConfig& config, const Generation& generation,
                             const Tokenizer& tokenizer, const SpeechRequest& request,
                             std::vector<int32_t> prompt, std::vector<int32_t> places,
                             std::vector<uint64_t> keys, int64_t width)
    : Answer(config, generation, tokenizer, request, std::move(prompt)),
      rows_(std::move(places), width),
      keys_(std::move(keys)) {
  SYRINX_CHECK(keys_.empty() || keys_.size() == rows_.places().size(), "[hearing] ", keys_.size(),
               " keys of ", rows_.places().size(), " places");
}

void HearingAnswer::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  const size_t before = keys.size();
  Answer::prefix_keys(companion, keys);
  if (rows_.none()) return;
  const std::span<const int32_t> places = rows_.places();
  if (keys_.empty()) keys.resize(before + static_cast<size_t>(places.front()));
  for (size_t i = 0; i < keys_.size(); ++i)
    keys[before + static_cast<size_t>(places[i])] = keys_[i];
}

void HearingAnswer::step_keys(bool companion, std::vector<uint64_t>& keys) const {
  if (rows_.none() || !keys_.empty()) Answer::step_keys(companion, keys);
}

void HearingAnswer::take_ids(const Frames& frames, int32_t first) {
  const std::span<const int32_t> places = rows_.take(frames);
  for (size_t i = 0; i < places.size(); ++i)
    fill(places[i], first + static_cast<int32_t>(frames.floats[i]));
}

std::optional<int32_t> HearingAnswer::next_told() {
  if (held_back_.empty() || held_back_.front().end > text().told()) return std::nullopt;
  const int32_t value = held_back_.front().value;
  held_back_.pop_front();
  return value;
}

}  // namespace syrinx::llm
