#include "families/step_audio2/answer.h"

namespace syrinx::step_audio2 {

/// Returns the rule for reading a text aloud: each id of the text is followed by four codes. After
/// the last of them, codes are sampled until the model samples the end.
SampleRule Answer::rule_aloud() const {
  SampleRule rule;
  constexpr int kRun = kRuns.text + kRuns.codes;
  const auto round = static_cast<size_t>(steps() / kRun);
  if (round < said().size()) {
    if (steps() % kRun == 0) {
      rule.forced = said()[round];
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

}  // namespace syrinx::step_audio2
