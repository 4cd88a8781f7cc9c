// Options for the prediction of answers: which tokens of a draft an answer keeps, the length of
// drafts, and their prompt (PredGen, Li and Grover, 2025). Values; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/request.h"
#include "predict/drafting.h"

namespace syrinx {

/// The rule that decides which first tokens of a draft are kept when the question continues.
enum class DraftRule {
  kGreedy,      ///< keeps the tokens that the model would write: answers equal those without drafts
  kTopK,        ///< keeps tokens that are among the k most probable at their position
  kReflection,  ///< as kGreedy; also keeps first sentences that the model judges correct
};
/// Parses "greedy", "top_k" or "reflection", also with a hyphen; returns nothing for other names.
std::optional<DraftRule> find_draft_rule(std::string_view name);
/// Returns the name of a rule. Its storage is static.
const char* draft_rule_name(DraftRule rule);

/// Settings of prediction.
struct Prediction {
  static constexpr int kMostAmong = 100, kMostDraft = 1000;
  static constexpr size_t kMostHint = 2000;  ///< most bytes of the hint

  DraftRule rule = DraftRule::kGreedy;
  int among = 3;           ///< k of kTopK, 1 to kMostAmong; 1 equals kGreedy
  DraftRules drafts = {};  ///< lengths of drafts
  std::string hint = {};   ///< text added to the question in drafts, such as "(more may follow)"
  int jacobi = 0;          ///< RequestWriting::jacobi, an experiment

  bool operator==(const Prediction&) const = default;
};
/// Sets the first draft's length, 1 to kMostDraft, and raises the largest length to it if needed.
void set_draft_length(DraftRules& rules, int first);

/// Prepares the request of a draft or of the answer: the request expects the last draft, whose
/// first `settled` bytes are kept in any case, or instead the draft before it.
void expect(SpeechRequest& request, const Prediction& how, const Drafting& drafting,
            size_t settled);

/// Returns the text of the last message; empty unless the user sent it and it is one text.
std::string question_of(const Chat& chat);

/// Returns whether `text` begins with `beginning` and continues its last word (of ASCII letters and
/// digits). A draft for such a beginning is worth little: models repeat half a word as if it were
/// whole.
bool ends_within_word(std::string_view beginning, std::string_view text);

/// Returns the conversation with "?" after its last message, if this ends with a letter or digit
/// and question_of() returns it. People type a question mark last, and an answer to a question
/// without it may differ.
Chat with_question_mark(const Chat& chat);

/// Returns the conversation with the hint appended to its last message, if that is the user's.
Chat hinted(const Chat& chat, const std::string& hint);

/// Returns the conversation for which drafts are written: hinted(), or without a hint
/// with_question_mark().
Chat drafted_chat(const Chat& chat, const std::string& hint);

}  // namespace syrinx
