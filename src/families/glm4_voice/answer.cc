#include "families/glm4_voice/answer.h"

namespace syrinx::glm4_voice {

/// Returns the rule for reading a text aloud: the text's next 13 ids, then 26 codes for them. After
/// the text, codes are sampled until the model samples the end.
SampleRule Answer::rule_aloud() const {
  SampleRule rule;
  constexpr int kTextRun = kRuns.text, kRun = kTextRun + kRuns.codes;
  const int round = steps() / kRun, at = steps() % kRun;
  const size_t before = static_cast<size_t>(round) * kTextRun, place = static_cast<size_t>(at);
  if (place < kTextRun && before + place < said().size()) {
    rule.forced = said()[before + place];
    return rule;
  }
  rule.allowed[rule.ranges++] = {ids_.audio, ids_.audio_end};
  const bool last = before >= said().size() || said().size() - before <= kTextRun;
  if (last && (before >= said().size() || place > said().size() - before))
    rule.allowed[rule.ranges++] = {ids_.user, ids_.user + 1};  // id of the answer's end
  return rule;
}

}  // namespace syrinx::glm4_voice
