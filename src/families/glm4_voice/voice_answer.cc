#include "families/glm4_voice/voice_answer.h"

#include <algorithm>

namespace syrinx::glm4_voice {

VoiceAnswer::VoiceAnswer(const Ids& ids, const llm::ModelConfig& config,
                         const llm::Generation& generation, const Tokenizer& tokenizer,
                         const SpeechRequest& request, Prompt prompt, bool speaks)
    : Answer(config, generation, tokenizer, request, std::move(prompt.ids)),
      ids_(ids),
      places_(std::move(prompt.places)),
      segments_(std::move(prompt.segments)),
      said_(std::move(prompt.said)),
      speaks_(speaks),
      seed_(request.seed) {}

/// What a recording says is not known yet.
void VoiceAnswer::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  const size_t before = keys.size();
  Answer::prefix_keys(companion, keys);
  if (!places_.empty()) keys.resize(before + static_cast<size_t>(places_.front()));
}

void VoiceAnswer::step_keys(std::vector<uint64_t>& keys) const {
  if (places_.empty()) Answer::step_keys(keys);
}

/// Ids that are told beforehand have a rule of their own each, which guesses cannot have.
std::span<const int32_t> VoiceAnswer::draft() const {
  return said_.empty() ? Answer::draft() : std::span<const int32_t>();
}

SampleRule VoiceAnswer::rule(int k) const {
  if (said_.empty() && speaks_) return Answer::rule(k);
  SampleRule rule;
  if (said_.empty()) {
    rule.allowed[rule.ranges++] = {0, ids_.audio};
    return rule;
  }
  // A text that is read aloud: its next 13 ids, then 26 codes for them; at its end as many codes as
  // the model draws before an end.
  const int run = kTextRun + kAudioRun, round = steps() / run, at = steps() % run;
  const size_t before = static_cast<size_t>(round) * kTextRun, place = static_cast<size_t>(at);
  if (place < kTextRun && before + place < said_.size()) {
    rule.forced = said_[before + place];
    return rule;
  }
  rule.allowed[rule.ranges++] = {ids_.audio, ids_.audio_end};
  const bool last = before >= said_.size() || said_.size() - before <= kTextRun;
  if (last && (before >= said_.size() || place > said_.size() - before))
    rule.allowed[rule.ranges++] = {ids_.user, ids_.user + 1};  // its end
  return rule;
}

/// Codes are told once the text before them is: what is not said for certain is not spoken either.
Verdict VoiceAnswer::advance(std::span<const int32_t> codes, StepOutput& out) {
  const Verdict verdict = Answer::advance(codes, out);
  if (speaks_ && ids_.is_audio(codes[0]))
    untold_.push_back({codes[0] - ids_.audio, text().known()});
  for (; !untold_.empty() && untold_.front().end <= text().told(); untold_.pop_front())
    out.frame({&untold_.front().code, 1});
  return verdict;
}

Status VoiceAnswer::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  const auto count = static_cast<size_t>(frames.count);
  SYRINX_CHECK(heard_ + count <= places_.size(), "[glm4_voice] ", heard_ + count, " codes for ",
               places_.size(), " places");
  for (size_t i = 0; i < count; ++i)
    fill(places_[heard_++], ids_.audio + static_cast<int32_t>(frames.floats[i]));
  SYRINX_CHECK(!frames.last || ready(), "[glm4_voice] the speech tokenizer ended after ", heard_,
               " of ", places_.size(), " codes");
  return ok_status();
}

}  // namespace syrinx::glm4_voice
