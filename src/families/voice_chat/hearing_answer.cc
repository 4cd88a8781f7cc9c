#include "families/voice_chat/hearing_answer.h"

#include "base/check.h"

namespace syrinx {

HearingAnswer::HearingAnswer(const llm::ModelConfig& config, const llm::Generation& generation,
                             const Tokenizer& tokenizer, const SpeechRequest& request,
                             ChatPrompt prompt, int64_t width)
    : Answer(config, generation, tokenizer, request, std::move(prompt.ids)),
      rows_(std::move(prompt.places), width),
      as_ids_(width == 0),
      heard_(std::move(prompt.heard)),
      keys_(std::move(prompt.keys)),
      said_(std::move(prompt.said)) {
  SYRINX_CHECK(keys_.empty() || keys_.size() == rows_.places().size(), "[hearing] got ",
               keys_.size(), " keys for ", rows_.places().size(), " places");
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

void HearingAnswer::rows(int first, bool companion, InputRows& out) const {
  Answer::rows(first, companion, out);
  for (int i = 0; i < out.count(); ++i) {
    const std::span<const float> heard = rows_.row(first + i);
    if (heard.empty()) continue;
    out.ids(i)[0] = -1;
    out.give(i, heard);
  }
}

Status HearingAnswer::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  const std::span<const int32_t> places = rows_.take(frames);
  for (size_t i = 0; as_ids_ && i < places.size(); ++i)
    fill(places[i], id_at(places[i]) + static_cast<int32_t>(frames.floats[i]));
  return ok_status();
}

std::optional<int32_t> HearingAnswer::next_passed() {
  if (held_back_.empty() || held_back_.front().end > text().told()) return std::nullopt;
  const int32_t value = held_back_.front().value;
  held_back_.pop_front();
  return value;
}

}  // namespace syrinx
