// How answers are predicted: which of a draft's tokens an answer takes over, how long drafts are
// and what is in their prompt (PredGen, Li and Grover, 2025). Values; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/request.h"
#include "predict/drafting.h"

namespace syrinx {

/// Which of a draft's tokens are kept, from its beginning on, once more of the question is known.
enum class DraftRule {
  kGreedy,      ///< those that the model would have written: answers are the same as without drafts
  kTopK,        ///< those that are among the k likeliest where they stand
  kReflection,  ///< and the first sentences that the model, when asked, finds to answer the
                ///< question
};
/// "greedy", "top_k" or "reflection", a hyphen for the underscore too; unset for another name.
std::optional<DraftRule> find_draft_rule(std::string_view name);
/// Static storage.
const char* draft_rule_name(DraftRule rule);

/// Settings of prediction.
struct Prediction {
  static constexpr int kMostAmong = 100, kMostDraft = 1000;
  static constexpr size_t kMostHint = 2000;  ///< bytes

  DraftRule rule = DraftRule::kGreedy;
  int among = 3;           ///< the k of kTopK, 1 to kMostAmong; 1 is greedy
  DraftRules drafts = {};  ///< lengths
  std::string hint = {};   ///< put behind the question in drafts: that it may be cut off
  int jacobi = 0;          ///< an experiment: RequestWriting::jacobi

  bool operator==(const Prediction&) const = default;
};
/// The same with first drafts of `tokens` tokens, 1 to kMostDraft; the others follow.
void set_draft_length(DraftRules& rules, int first);

/// What the request of a draft, or of the answer, is to expect: the draft before it, of which the
/// first `settled` bytes were found good.
void expect(SpeechRequest& request, const Prediction& how, std::string guess, size_t settled);

/// The conversation with the hint behind its last message, where that is the user's.
Chat hinted(const Chat& chat, const std::string& hint);

}  // namespace syrinx
