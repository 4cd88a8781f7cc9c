#include "ears/end_of_turn.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"
#include "text/sentence_rules.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr std::array<TurnPauses, 3> kPauses = {
    {{700, 3000, 1500, 8000}, {400, 1600, 900, 4000}, {250, 1000, 550, 2000}}};

/// English words after which speakers do not end a turn.
constexpr auto kUnfinished = std::to_array<std::string_view>(
    {"a",   "about", "although", "an",    "and",   "as",    "at",   "because", "but",
     "by",  "er",    "for",      "from",  "her",   "his",   "how",  "i",       "if",
     "in",  "into",  "is",       "like",  "my",    "of",    "on",   "or",      "our",
     "so",  "than",  "that",     "the",   "their", "then",  "to",   "uh",      "um",
     "was", "what",  "when",     "where", "which", "while", "with", "your"});
static_assert(std::is_sorted(kUnfinished.begin(), kUnfinished.end()));

char32_t last_character(std::string_view text) {
  char32_t last = 0;
  const size_t begin = text.size() > 4 ? text.size() - 4 : 0;
  for (size_t at = begin; at < text.size();) {
    const CodePoint point = utf8_at(text, at);
    last = point.value;
    at += point.size;
  }
  return last;
}

}  // namespace

const TurnPauses& pauses_of(Eagerness eagerness) {
  return kPauses[static_cast<size_t>(eagerness)];
}

int pause_that_ends_ms(const TurnPauses& pauses, std::string_view transcript, bool fell,
                       std::optional<bool> done) {
  if (done) return *done ? pauses.complete : pauses.open;
  transcript = trimmed(transcript);
  if (transcript.empty()) return fell ? pauses.unknown : pauses.longest;
  const char32_t last = last_character(transcript);
  const Ending ending = ending_of(last);
  if (ending == Ending::kEllipsis || transcript.ends_with("...")) return pauses.open;
  if (ending != Ending::kNone) return pauses.complete;
  if (clause_of(last) != Clause::kNone || is_wide_clause(last)) return pauses.open;
  const size_t blank = transcript.find_last_of(" \t\n");
  const std::string word = lower_ascii(transcript.substr(blank + 1));  // npos + 1 is 0
  const bool unfinished = std::binary_search(kUnfinished.begin(), kUnfinished.end(), word);
  if (unfinished) return pauses.open;
  return fell ? pauses.complete : pauses.unknown;
}

}  // namespace syrinx
