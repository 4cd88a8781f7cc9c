#include "families/whisper/token_rules.h"

#include <algorithm>
#include <cmath>

namespace syrinx::whisper {
namespace {

void forbid(IdSet& allowed, std::span<const int32_t> ids) {
  for (const int32_t id : ids) allowed.remove(id, id + 1);
}

void apply_grammar(const Generation& g, std::span<const int32_t> sampled, IdSet& allowed) {
  const auto vocab = allowed.vocabulary();
  const int32_t first = g.timestamps();
  const size_t count = sampled.size();
  const bool after_one = count >= 1 && g.is_timestamp(sampled[count - 1]);
  const bool pair = count < 2 || g.is_timestamp(sampled[count - 2]);
  if (after_one) pair ? allowed.remove(first, vocab) : allowed.remove(0, g.end);
  const auto last = std::find_if(sampled.rbegin(), sampled.rend(),
                                 [&](int32_t id) { return g.is_timestamp(id); });
  if (last != sampled.rend()) {
    // A segment may begin at the time at which the previous one ended.
    allowed.remove(first, *last + (after_one && !pair ? 0 : 1));
  }
  if (count == 0) {
    allowed.remove(0, first);
    if (g.max_first_timestamp >= 0) allowed.remove(first + g.max_first_timestamp + 1, vocab);
  }
}

}  // namespace

void IdSet::set(int64_t begin, int64_t end, bool in) {
  end = std::min(end, vocabulary_);
  for (int64_t id = begin, next = 0; id < end; id = next) {
    next = std::min(end, (id / 64 + 1) * 64);
    const uint64_t bits = ~uint64_t{0} >> (64 - (next - id)) << (id % 64);
    uint64_t& word = words_[static_cast<size_t>(id / 64)];
    word = in ? word | bits : word & ~bits;
  }
}

IdLimits rules_after(const Generation& g, bool timestamps, std::span<const int32_t> sampled,
                     IdSet& allowed) {
  allowed.add(0, allowed.vocabulary());
  if (sampled.empty()) forbid(allowed, g.suppressed_first);
  forbid(allowed, g.suppressed);
  if (!timestamps) return {allowed.mask()};
  allowed.remove(g.no_timestamps, g.no_timestamps + 1);
  apply_grammar(g, sampled, allowed);
  return {allowed.mask(), g.timestamps()};
}

IdLimits only_languages(const Generation& g, IdSet& allowed) {
  allowed.remove(0, allowed.vocabulary());
  for (const auto& [name, id] : g.languages) allowed.add(id, id + 1);
  return {allowed.mask()};
}

float probability(std::span<const float> logits, int32_t id) {
  return static_cast<float>(std::exp(static_cast<double>(logits[id]) - log_sum(logits)));
}

}  // namespace syrinx::whisper
