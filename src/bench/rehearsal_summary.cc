#include "bench/rehearsal_summary.h"

#include <algorithm>
#include <cmath>

namespace syrinx {

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = [&](double share) {
    const double at = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<size_t>(std::max(1.0, at)) - 1];
  };
  Spread out{0, rank(0.5), rank(0.9)};
  for (const double value : values) out.mean += value / static_cast<double>(values.size());
  return out;
}

RehearsalSummary summary_of(const RehearsalRun& run, const RehearsalRun& first) {
  RehearsalSummary out;
  std::vector<double> sentence_s, audio_s, forwards;
  int at_once = 0, ready = 0, same = 0;
  for (size_t i = 0; i < run.turns.size(); ++i) {
    const Rehearsal& turn = run.turns[i];
    ++out.turns;
    if (!turn.error.message.empty()) {
      ++out.failed;
      continue;
    }
    sentence_s.push_back(turn.sentence_s);
    if (turn.audio_s > 0 || turn.counts.ready) {
      audio_s.push_back(turn.audio_s);
    } else {
      ++out.silent;
    }
    if (turn.forwards > 0) forwards.push_back(turn.forwards);
    at_once += turn.forwards == 1 ? 1 : 0;
    ready += turn.counts.ready ? 1 : 0;
    same += i < first.turns.size() && turn.answer == first.turns[i].answer ? 1 : 0;
    out.tokens.drafts += turn.counts.drafts;
    out.tokens.drafted += turn.counts.drafted;
    out.tokens.accepted += turn.counts.accepted;
    out.tokens.wasted += turn.counts.wasted;
    out.reflections += turn.counts.reflections;
    out.spoken_ahead += turn.counts.spoken_ahead;
    out.spoken_in_vain += turn.counts.spoken_in_vain;
  }
  const double answered = std::max<double>(1, static_cast<double>(sentence_s.size()));
  out.at_once = at_once / answered, out.ready = ready / answered, out.same = same / answered;
  out.sentence_s = spread_of(std::move(sentence_s));
  out.audio_s = spread_of(std::move(audio_s));
  out.forwards = spread_of(std::move(forwards));
  return out;
}

}  // namespace syrinx
