#include "families/glm4_voice/voice_answer.h"

#include <algorithm>

namespace syrinx::glm4_voice {

VoiceAnswer::VoiceAnswer(const Ids& ids, const llm::ModelConfig& config,
                         const llm::Generation& generation, const Tokenizer& tokenizer,
                         const SpeechRequest& request, Prompt prompt, bool speaks)
    : HearingAnswer(config, generation, tokenizer, request, std::move(prompt.ids),
                    std::move(prompt.places), std::move(prompt.keys), 0),
      ids_(ids),
      segments_(std::move(prompt.segments)),
      said_(std::move(prompt.said)),
      speaks_(speaks),
      seed_(request.seed),
      goes_on_(request.background) {}

/// Ids that are told beforehand have a rule of their own each, which guesses cannot have.
std::span<const int32_t> VoiceAnswer::draft() const {
  return said_.empty() ? Answer::draft() : std::span<const int32_t>();
}

SampleRule VoiceAnswer::of_text(SampleRule rule) const {
  if (!speaks_) rule.allowed[0].end = std::min(rule.allowed[0].end, ids_.audio);
  return rule;
}

SampleRule VoiceAnswer::rule(int k) const {
  if (said_.empty()) return of_text(Answer::rule(k));
  SampleRule rule;
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

Verdict VoiceAnswer::advance(std::span<const int32_t> codes, StepOutput& out) {
  const Verdict verdict = Answer::advance(codes, out);
  if (speaks_) recall(codes[0], verdict, out);
  if (speaks_ && ids_.is_audio(codes[0])) hold_back(codes[0] - ids_.audio);
  while (const std::optional<int32_t> code = next_told()) out.frame({&*code, 1});
  return verdict;
}

Status VoiceAnswer::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  take_ids(frames, ids_.audio);
  return ok_status();
}

}  // namespace syrinx::glm4_voice
