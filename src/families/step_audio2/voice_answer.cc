#include "families/step_audio2/voice_answer.h"

#include <algorithm>

#include "codec/step_audio_encoder.h"
#include "families/hearing/heard.h"

namespace syrinx::step_audio2 {
namespace {

std::vector<uint64_t> row_keys(const Prompt& prompt) {
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < prompt.keys.size(); ++i)
    append_row_keys(prompt.keys[i], StepAudioEncoder::count(prompt.pieces[i]), keys);
  return keys;
}

}  // namespace

VoiceAnswer::VoiceAnswer(const Ids& ids, const llm::ModelConfig& config,
                         const llm::Generation& generation, const Tokenizer& tokenizer,
                         const SpeechRequest& request, Prompt prompt,
                         std::shared_ptr<const S3FlowVoice> voice, bool speaks)
    : HearingAnswer(config, generation, tokenizer, request, std::move(prompt.ids),
                    std::move(prompt.places), row_keys(prompt), config.lm.hidden),
      ids_(ids),
      pieces_(std::move(prompt.pieces)),
      piece_keys_(std::move(prompt.keys)),
      said_(std::move(prompt.said)),
      speaks_(speaks) {
  flow_voice_ = std::move(voice);
  seed_ = request.seed;
  full_flow_ = request.flow == FlowMode::kFull;
}

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
  // A text that is read aloud: an id of it and four codes, in turn; at its end as many codes as the
  // model draws before an end.
  const int run = 1 + kAudioRun;
  const auto round = static_cast<size_t>(steps() / run);
  if (round < said_.size()) {
    if (steps() % run == 0) {
      rule.forced = said_[round];
    } else {
      rule.allowed[rule.ranges++] = {ids_.audio, ids_.code_end};
    }
    return rule;
  }
  if (history(0).back() == ids_.tts_end) {
    rule.forced = ids_.turn_end;
    return rule;
  }
  rule.allowed[rule.ranges++] = {ids_.turn_end, ids_.turn_end + 1};
  rule.allowed[rule.ranges++] = {ids_.tts_end, ids_.tts_end + 1};
  rule.allowed[rule.ranges++] = {ids_.audio, ids_.code_end};
  return rule;
}

Verdict VoiceAnswer::advance(std::span<const int32_t> codes, StepOutput& out) {
  const Verdict verdict = Answer::advance(codes, out);
  if (speaks_) recall(codes[0], verdict, out);
  if (speaks_ && ids_.is_code(codes[0])) hold_back(codes[0] - ids_.audio);
  while (const std::optional<int32_t> code = next_told()) out.frame({&*code, 1});
  return verdict;
}

Status VoiceAnswer::take(int port, const Frames& frames) {
  if (port != kHearing) return Sequence::take(port, frames);
  take_rows(frames);
  return ok_status();
}

}  // namespace syrinx::step_audio2
