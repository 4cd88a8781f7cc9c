#include "families/whisper/token_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace syrinx::whisper {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void forbid(std::span<float> logits, int64_t begin, int64_t end) {
  end = std::min<int64_t>(end, std::ssize(logits));
  if (begin < end) std::fill(logits.begin() + begin, logits.begin() + end, kNever);
}

void forbid(std::span<float> logits, std::span<const int32_t> ids) {
  for (const int32_t id : ids) logits[id] = kNever;
}

double log_sum(std::span<const float> x) {
  const float top = *std::max_element(x.begin(), x.end());
  if (!(top > kNever)) return kNever;
  double sum = 0;
  for (const float v : x) sum += std::exp(static_cast<double>(v - top));
  return top + std::log(sum);
}

void apply_grammar(const Generation& g, std::span<const int32_t> sampled, std::span<float> logits) {
  const auto vocab = std::ssize(logits);
  const int32_t first = g.timestamps();
  const size_t count = sampled.size();
  const bool after_one = count >= 1 && g.is_timestamp(sampled[count - 1]);
  const bool pair = count < 2 || g.is_timestamp(sampled[count - 2]);
  if (after_one) pair ? forbid(logits, first, vocab) : forbid(logits, 0, g.end);
  const auto last = std::find_if(sampled.rbegin(), sampled.rend(),
                                 [&](int32_t id) { return g.is_timestamp(id); });
  if (last != sampled.rend()) {
    // A segment may begin at the time at which the previous one ended.
    forbid(logits, first, *last + (after_one && !pair ? 0 : 1));
  }
  if (count == 0) {
    forbid(logits, 0, first);
    if (g.max_first_timestamp >= 0) forbid(logits, first + g.max_first_timestamp + 1, vocab);
  }
  const auto text = logits.first(static_cast<size_t>(first));
  if (log_sum(logits.subspan(static_cast<size_t>(first))) >
      *std::max_element(text.begin(), text.end())) {
    forbid(logits, 0, first);
  }
}

}  // namespace

void apply_rules(const Generation& g, bool timestamps, std::span<const int32_t> sampled,
                 std::span<float> logits) {
  if (sampled.empty()) forbid(logits, g.suppressed_first);
  forbid(logits, g.suppressed);
  if (!timestamps) return;
  logits[g.no_timestamps] = kNever;
  apply_grammar(g, sampled, logits);
}

void allow_languages(const Generation& g, std::span<float> logits) {
  std::vector<std::pair<int32_t, float>> kept;
  for (const auto& [name, id] : g.languages) kept.emplace_back(id, logits[id]);
  forbid(logits, 0, std::ssize(logits));
  for (const auto& [id, logit] : kept) logits[id] = logit;
}

float probability(std::span<const float> logits, int32_t id) {
  return static_cast<float>(std::exp(static_cast<double>(logits[id]) - log_sum(logits)));
}

}  // namespace syrinx::whisper
