// Options of predicting answers: which tokens of a draft an answer keeps, the length of drafts, and
// their prompt (PredGen, Li and Grover, 2025). Values; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/request.h"
#include "predict/drafting.h"

namespace syrinx {

/// Decides which tokens at the beginning of a draft are kept when more of the question is known.
enum class DraftRule {
  kGreedy,      ///< those that the model would write: answers are the same as without drafts
  kTopK,        ///< those that are among the k most probable at their position
  kReflection,  ///< also the first sentences that the model judges to be an answer
};
/// Parses "greedy", "top_k" or "reflection", also with a hyphen; unset for another name.
std::optional<DraftRule> find_draft_rule(std::string_view name);
/// Returns the name; static storage.
const char* draft_rule_name(DraftRule rule);

/// Settings of prediction.
struct Prediction {
  static constexpr int kMostAmong = 100, kMostDraft = 1000;
  static constexpr size_t kMostHint = 2000;  ///< most bytes of the hint

  DraftRule rule = DraftRule::kGreedy;
  int among = 3;           ///< k of kTopK, 1 to kMostAmong; 1 is greedy
  DraftRules drafts = {};  ///< lengths of drafts
  std::string hint = {};   ///< added to the question in drafts: says that it may be incomplete
  int jacobi = 0;          ///< RequestWriting::jacobi, an experiment

  bool operator==(const Prediction&) const = default;
};
/// Sets the length of the first draft, 1 to kMostDraft; the other lengths follow from it.
void set_draft_length(DraftRules& rules, int first);

/// Sets what the request of a draft or of the answer expects: the last draft (`guess`), whose first
/// `settled` bytes are kept in any case.
void expect(SpeechRequest& request, const Prediction& how, std::string guess, size_t settled);

/// Returns the conversation with the hint after its last message, if that is the user's.
Chat hinted(const Chat& chat, const std::string& hint);

}  // namespace syrinx
